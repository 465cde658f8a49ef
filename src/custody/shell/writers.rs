//! Calls that write, as data.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Calls that write: language (`*` for all), name, and effects by argument position. The name is the end of the dotted name;
/// `=` in front wants all of it, `.` stands for the receiver (position `r`).
pub(super) const CALLS: &[(&str, &str, &str)] = &[
    // Python
    ("python", "os.remove os.unlink os.rmdir os.removedirs", "0X"),
    ("python", "os.mkdir os.makedirs os.mknod", "0D"),
    ("python", "os.mkfifo", "0p"),
    ("python", "py_compile.compile", "1W"),
    ("python", "cProfile.run profile.run", "1W"),
    ("python", "cProfile.runctx profile.runctx", "3W"),
    ("python", ".dump_stats .write_results .dump_traceback_later", "0W"),
    ("python", "mailbox.mbox mailbox.Maildir mailbox.MH mailbox.Babyl mailbox.MMDF", "0P"),
    ("python", "compileall.compile_dir compileall.compile_file", "0d"),
    ("python", "venv.create", "0D"),
    ("python", "os.setxattr os.removexattr os.chflags os.lchmod", "0M"),
    ("python", "os.rename os.replace os.renames shutil.move", "0F 1T"),
    ("python", "os.symlink os.link", "1L"),
    ("python", "os.chmod os.chown os.lchown os.utime os.truncate os.setxattr", "0M"),
    ("python", "shutil.rmtree", "0R"),
    ("python", "shutil.copy shutil.copy2 shutil.copyfile", "1T"),
    ("python", "shutil.copymode shutil.copystat", "1M"),
    ("python", "shutil.copytree", "1B"),
    ("python", "shutil.chown", "0M"),
    ("python", "shutil.make_archive", "0P"),
    ("python", "urlretrieve urllib.request.urlretrieve", "1W"),
    ("python", "sqlite3.connect", "0W"),
    ("python", "write_text write_bytes", "rW"),
    ("python", ".to_csv .to_json .to_excel .to_parquet .to_pickle .savefig .savetxt", "0W"),
    (
        "python",
        "FileHandler .FileHandler RotatingFileHandler .RotatingFileHandler TimedRotatingFileHandler .TimedRotatingFileHandler WatchedFileHandler .WatchedFileHandler",
        "0W",
    ),
    ("python", "touch", "rU"),
    ("python", "unlink rmdir", "rX"),
    ("python", "mkdir", "rD"),
    ("python", "symlink_to hardlink_to link_to", "rL"),
    ("python", "chmod", "rM"),
    ("python", "tempfile.mkdtemp tempfile.mkstemp tempfile.NamedTemporaryFile", "=d"),
    // Node and its like
    (
        "node",
        "writeFileSync writeFile appendFileSync appendFile createWriteStream outputFile outputFileSync writeJson writeJsonSync writeTextFile writeTextFileSync truncateSync truncate ensureFileSync",
        "0W",
    ),
    ("node", "unlinkSync unlink", "0X"),
    ("node", "rmSync rm rmdirSync rmdir removeSync rimraf rimrafSync emptyDirSync remove", "0R"),
    ("node", "mkdirSync mkdir ensureDirSync mkdtempSync mkdirpSync", "0D"),
    ("node", "renameSync rename moveSync move", "0F 1F"),
    ("node", "copyFileSync copyFile", "1W"),
    ("node", "cpSync cp copySync copy", "1B"),
    ("node", "symlinkSync symlink linkSync link", "1L"),
    ("node", "chmodSync chmod chownSync chown utimesSync utimes lchownSync lutimesSync", "0M"),
    ("node", "Bun.write WriteStream process.report.writeReport v8.writeHeapSnapshot", "0W"),
    // Perl
    ("perl", "unlink", "*X"),
    ("perl", "rename move mv", "0F 1T"),
    ("perl", "copy cp", "1T"),
    ("perl", "mkdir", "0D"),
    ("perl", "make_path mkpath", "*D"),
    ("perl", "rmdir", "*X"),
    ("perl", "rmtree remove_tree", "*R"),
    ("perl", "symlink link", "1L"),
    ("perl", "truncate write_file spew append_file spurt", "0W"),
    ("perl", "store nstore lock_store lock_nstore Storable.store Storable.nstore Storable.lock_store", "1W"),
    ("perl", "dbmopen", "1P"),
    ("perl", "mkfifo POSIX.mkfifo", "0p"),
    ("perl", "POSIX.creat POSIX.mkdir", "0W"),
    ("perl", "POSIX.rename File.Copy.move File.Copy.mv", "0F 1T"),
    ("perl", "File.Copy.copy File.Copy.cp", "1T"),
    ("perl", "File.Path.make_path File.Path.mkpath", "*D"),
    ("perl", "File.Path.remove_tree File.Path.rmtree", "*R"),
    ("perl", "POSIX.unlink POSIX.remove POSIX.rmdir", "*X"),
    ("perl", "POSIX.chmod", "1+M"),
    ("perl", "POSIX.utime POSIX.chown", "2+M"),
    ("perl", "chmod", "1+M"),
    ("perl", "chown utime", "2+M"),
    ("perl", "touch", "rU"),
    ("perl", "spew_utf8 spew_raw append append_utf8", "rW"),
    // Ruby
    ("ruby", "File.write IO.write File.binwrite IO.binwrite File.truncate", "0W"),
    ("ruby", "File.delete File.unlink FileUtils.rm FileUtils.rm_f FileUtils.remove FileUtils.safe_unlink", "*X"),
    (
        "ruby",
        "FileUtils.rm_r FileUtils.rm_rf FileUtils.rmtree FileUtils.remove_dir FileUtils.remove_entry FileUtils.remove_entry_secure FileUtils.remove_file FileUtils.rmdir Dir.rmdir Dir.delete Dir.unlink",
        "*R",
    ),
    ("ruby", "Zlib.GzipWriter.open GzipWriter.open", "0W"),
    ("ruby", "Logger.new PStore.new YAML.Store.new", "0W"),
    ("ruby", "Tempfile.create Tempfile.new Tempfile.open Dir.mktmpdir", "1d"),
    ("ruby", "File.mkfifo", "0p"),
    ("ruby", "File.lchmod File.lchown", "1+M"),
    ("ruby", "FileUtils.cp_lr FileUtils.link_entry", "1B"),
    ("ruby", "FileUtils.ln_sr", "1L"),
    ("ruby", "IO.copy_stream", "1W"),
    ("ruby", "File.rename FileUtils.mv FileUtils.move", "0F 1T"),
    ("ruby", "FileUtils.cp FileUtils.copy FileUtils.copy_file FileUtils.install", "1T"),
    ("ruby", "FileUtils.cp_r FileUtils.copy_entry", "1B"),
    ("ruby", "FileUtils.mkdir FileUtils.mkdir_p FileUtils.makedirs FileUtils.mkpath Dir.mkdir", "*D"),
    ("ruby", "FileUtils.touch", "*U"),
    ("ruby", "FileUtils.ln FileUtils.ln_s FileUtils.ln_sf FileUtils.symlink File.symlink File.link FileUtils.link", "1L"),
    ("ruby", "FileUtils.chmod FileUtils.chmod_R File.chmod", "1+M"),
    ("ruby", "FileUtils.chown FileUtils.chown_R File.chown File.utime", "2+M"),
    ("ruby", "delete unlink rmtree rmdir", "rR"),
    ("ruby", "write binwrite", "rW"),
    ("ruby", "mkpath mkdir", "rD"),
    // PHP
    ("php", "file_put_contents ftruncate", "0W"),
    ("php", "unlink rmdir", "0X"),
    ("php", "rename", "0F 1F"),
    ("php", "copy move_uploaded_file", "1W"),
    ("php", "mkdir", "0D"),
    ("php", "touch", "0U"),
    ("php", "chmod chown chgrp", "0M"),
    ("php", "symlink link", "1L"),
    ("php", "tempnam", "0d"),
    ("php", "error_log", "2W"),
    ("php", "imagepng imagejpeg imagegif imagewebp imagebmp", "1W"),
    ("php", ".extractTo", "0d"),
    ("php", ".saveHTMLFile .save .asXML .buildFromDirectory", "0W"),
    ("php", "lchown lchgrp", "0M"),
    ("php", "posix_mkfifo posix_mknod", "0p"),
];

/// The rows of a language whose name ends so, in order: the whole name and its effects.
pub(super) fn named(lang: &str, last: &str) -> &'static [(&'static str, &'static str)] {
    type Rows = HashMap<&'static str, Vec<(&'static str, &'static str)>>;
    static MAP: OnceLock<HashMap<&'static str, Rows>> = OnceLock::new();
    let map = MAP.get_or_init(|| {
        let mut map: HashMap<&'static str, Rows> = HashMap::new();
        for (lang, names, effects) in CALLS {
            let rows = map.entry(lang).or_default();
            for name in names.split_ascii_whitespace() {
                rows.entry(name.rsplit('.').next().unwrap_or(name)).or_default().push((name, effects));
            }
        }
        map
    });
    map.get(lang).and_then(|rows| rows.get(last)).map_or(&[], Vec::as_slice)
}
