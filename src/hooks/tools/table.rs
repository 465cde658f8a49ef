//! The rows of the table, and how names are compared.

/// What a row of the table says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// Changes the files that its arguments name.
    Write,
    /// Takes a patch.
    Patch,
    /// Runs commands.
    Shell,
    /// Runs a program text.
    Program,
    /// Looks at files.
    Read,
    /// Known, and touches no files of the tree.
    Nothing,
}

/// Names without case and separators.
pub(super) const TABLE: &[(Does, &[&str])] = &[
    (
        Does::Write,
        &[
            "write",
            "writefile",
            "writetofile",
            "filewrite",
            "create",
            "createfile",
            "createnewfile",
            "savefile",
            "overwritefile",
            "appendfile",
            "appendtofile",
            "edit",
            "editfile",
            "fileedit",
            "multiedit",
            "replace",
            "replaceinfile",
            "strreplace",
            "strreplaceeditor",
            "strreplacebasededittool",
            "searchreplace",
            "searchandreplace",
            "editor",
            "insert",
            "insertcontent",
            "updatefile",
            "notebookedit",
            "editnotebook",
            "deletefile",
            "removefile",
            "movefile",
            "renamefile",
            "copyfile",
            "createdirectory",
            "makedirectory",
            "mkdir",
        ],
    ),
    (Does::Patch, &["applypatch", "patch", "applydiff"]),
    (
        Does::Shell,
        &[
            "bash",
            "monitor",
            "shell",
            "shellcommand",
            "localshell",
            "runshellcommand",
            "terminal",
            "runinterminal",
            "runterminalcmd",
            "runterminalcommand",
            "runcommand",
            "runcommands",
            "executecommand",
            "execcommand",
            "exec",
            "containerexec",
            "unifiedexec",
            "writestdin",
            "writebash",
            "process",
            "powershell",
        ],
    ),
    (Does::Program, &["executecode", "runcode", "python", "codeinterpreter", "jupyter"]),
    (
        Does::Read,
        &[
            "read",
            "readfile",
            "readfiles",
            "readmanyfiles",
            "view",
            "viewimage",
            "viewfile",
            "cat",
            "ls",
            "list",
            "listdir",
            "listdirectory",
            "listfiles",
            "glob",
            "grep",
            "greptool",
            "search",
            "searchfiles",
            "searchfilecontent",
            "codesearch",
            "notebookread",
            "lsp",
            "readimage",
            "readmediafile",
            "readtextfile",
            "readmultiplefiles",
            "getfileinfo",
            "directorytree",
        ],
    ),
    (
        Does::Nothing,
        &[
            "todowrite",
            "todoread",
            "writetodos",
            "updateplan",
            "updatetopic",
            "savememory",
            "task",
            "taskcreate",
            "taskupdate",
            "agent",
            "spawnagent",
            "invokeagent",
            "websearch",
            "webfetch",
            "skill",
            "toolsearch",
            "createissue",
            "updateissue",
            "createpullrequest",
        ],
    ),
];

/// Keys that name the file of a file tool, without case and separators.
pub(super) const FILE_KEYS: &[&str] = &[
    "filepath",
    "path",
    "notebookpath",
    "filename",
    "file",
    "targetfile",
    "absolutepath",
    "relativepath",
    "uri",
    "fileuri",
    "source",
    "destination",
    "oldpath",
    "newpath",
    "paths",
    "files",
    "directory",
];

/// Keys that name the directory that a tool works in.
pub(super) const DIR_KEYS: &[&str] = &[
    "workdir",
    "dir_path",
    "directory",
    "cwd",
    "working_directory",
    "workingDirectory",
    "work_dir",
    "workDir",
    "working_dir",
    "workingDir",
];

/// Tools that call another one, which their arguments name.
pub(super) const WRAPPERS: &[&str] =
    &["toolcall", "calltool", "usetool", "usemcptool", "callmcptool", "executetool", "invoketool", "runtool"];

/// Keys that name a directory which the paths beside them may be meant from.
pub(super) const BASE_KEYS: &[&str] = &["base_path", "basePath", "base_dir", "baseDir", "base", "root", "folder", "directory", "dir"];

/// Further keys that may name a path in the arguments of a tool nobody knows.
pub(super) const MORE_KEYS: &[&str] = &[
    "target",
    "dest",
    "dst",
    "src",
    "to",
    "from",
    "output",
    "outputpath",
    "outputfile",
    "outfile",
    "dir",
    "folder",
    "location",
    "pathname",
    "root",
];

/// The last part of a name behind the prefixes of tool servers, without case and separators.
pub(super) fn plain_name(name: &str) -> String {
    let last = name.rsplit("__").next().unwrap_or(name);
    let last = last.rsplit(['.', '/', ':']).next().unwrap_or(last);
    last.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

pub(super) fn plain_key(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The words of a name: `mcp__fs__moveFile` is `mcp`, `fs`, `move`, `file`.
pub(super) fn name_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            words.push(String::new());
        } else if words.is_empty() || (c.is_ascii_uppercase() && before_lower) {
            words.push(c.to_ascii_lowercase().to_string());
        } else if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
        before_lower = c.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

pub(super) fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh")
}
