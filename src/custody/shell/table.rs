//! Commands, as data: one row a command, saying which of its operands and options name what it writes.
//!
//! A row is a list of names and a list of marks.
//!
//! | mark | means |
//! |---|---|
//! | `-o:W`, `--output:W` | an option with a value, and what happens to the path that it names; nothing behind `:` for no path |
//! | `-i::` | an option whose value, if any, is glued on |
//! | `-n!` | with this option nothing is written at all |
//! | `-c/` | with this option the operands are not written |
//! | `-i?` | the operands are written only with this option |
//! | `-R+` | with this option everything below is affected |
//! | `@W`, `@1W`, `@2+W`, `@$W` | all operands, the first, the second and on, the last of several |
//! | `.` | options end at the first operand |
//! | `x=…` | an operand of the form `name=value` that names a path (`of=W`) |
//! | `~stdin` | prints what it reads: operands, or else its input |
//! | `*name` | a row is not enough: the function `name` does it, this row gives its options |
//! | `?` | a program that can do anything |
//!
//! Effects: `W` written through a link · `U` touched (made if missing) · `M` mode, owner or attributes · `X` removed · `R` removed with all below ·
//! `D` directory made · `L` link or node made · `I` replaced in place, the link itself · `P` several files whose names begin so ·
//! `d` files in this directory · `B` the directory and everything below · `Y` text of a shell command · `F` made by moving a finished file there.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The rows.
const ROWS: &[(&str, &str)] = &[
    // --- coreutils -------------------------------------------------------------------------------------------------
    ("cat tac nl fold fmt expand unexpand rev", "~stdin"),
    (
        "arch b2sum base32 base64 basename basenc cksum comm cut date df dir dircolors dirname du expr factor groups head hostid hostname id join logname ls \
      md5sum nproc numfmt od paste pathchk pinky pr printenv readlink realpath seq sha1sum sha224sum sha256sum sha384sum sha512sum sleep stat stty sum sync \
      tail tr tsort tty uname uptime users vdir wc who whoami yes test [ true false echo printf pwd",
        "",
    ),
    ("cp", "*cp -t: --target-directory: -S: --suffix: --backup:: --reflink:: --sparse: --no-preserve: --context::"),
    ("mv", "*mv -t: --target-directory: -S: --suffix: --backup::"),
    ("ln", "*ln -t: --target-directory: -S: --suffix: --backup::"),
    ("link", "*link"),
    (
        "install ginstall",
        "*install -t: --target-directory: -S: --suffix: -m: --mode: -o: --owner: -g: --group: --strip-program: --backup::",
    ),
    ("rm", "*rm --interactive:: --preserve-root::"),
    ("rmdir", "*rmdir"),
    ("unlink", "@X"),
    ("mkdir", "*mkdir -m: --mode: --context::"),
    ("mkfifo", "@p -m: --mode:"),
    ("mknod", "*mknod -m: --mode:"),
    ("mktemp", "*mktemp -p: --tmpdir:: --suffix:"),
    ("touch", "*touch -d: --date: -t: -r: --reference: --time:"),
    ("chmod", "*chmod -R+ --recursive+ --reference:"),
    ("chown chgrp", "*chown -R+ --recursive+ --reference: --from:"),
    ("chcon", "@2+M -R+ -u: -r: -t: -l: --reference: --type: --user: --role: --range:"),
    ("truncate", "*truncate -s: --size: -r: --reference:"),
    ("shred", "@W -n: --iterations: -s: --size: --random-source:"),
    ("tee", "*tee"),
    ("dd", "*dd"),
    (
        "split",
        "*split -a: --suffix-length: -b: --bytes: -C: --line-bytes: -l: --lines: -n: --number: -t: --separator: --additional-suffix: --filter: \
      --numeric-suffixes:: --hex-suffixes::",
    ),
    ("csplit", "*csplit -f: --prefix: -b: --suffix-format: -n: --digits:"),
    (
        "sort",
        "*sort -o:W --output:W -k: --key: -t: --field-separator: -S: --buffer-size: -T: --temporary-directory: --parallel: --batch-size: --compress-program: \
      --files0-from: --random-source: --sort: --debug -m",
    ),
    ("uniq", "*uniq -f: -s: -w: --skip-fields: --skip-chars: --check-chars: --group:: -D --all-repeated::"),
    ("shuf", "-o:W --output:W -n: --head-count: -i: --input-range: --random-source:"),
    ("ptx", "@2W -A -b: -F: -g: -i: -M: -o: -S: -w: -W: --width: --gap-size:"),
    // --- text and search ---------------------------------------------------------------------------------------------
    (
        "grep egrep fgrep zgrep rg ag ack ugrep",
        "*grep -e: -f: -m: -A: -B: -C: -g: -t: -T: -M: -j: --regexp: --file: --max-count: --include: --exclude: --exclude-dir: \
      --exclude-from: --color:: --colour:: --glob: --iglob: --type: --type-not: --pre: --max-depth: --context: --after-context: --before-context: --label: --sort:",
    ),
    ("sed gsed", "*sed -e: --expression: -f: --file: -l: --line-length: -i:: --in-place::"),
    (
        "awk gawk mawk nawk original-awk",
        "*awk . -F: -v: -f: -i: -e: -l: -E: --field-separator: --assign: --file: --include: --source: --exec: --load: -o:: -p:: -d:: --dump-variables:: \
      --pretty-print:: --profile::",
    ),
    ("perl", "*perl"),
    ("ruby", "*ruby"),
    ("python python2 python3 pypy pypy3", "*python"),
    ("node nodejs bun deno tsx ts-node", "*node"),
    ("php", "*php"),
    ("lua luajit Rscript osascript", "?"),
    ("loci", "*loci"),
    ("apply_patch applypatch", "*apply_patch"),
    (
        "patch",
        "*patch -p: --strip: -i: --input: -o: --output: -d: --directory: -D: --ifdef: -B: --prefix: -Y: --basename-prefix: -z: --suffix: -r: --reject-file: -F: --fuzz: \
      -V: --version-control: -g: --get: --quoting-style: --reject-format: --read-only:",
    ),
    (
        "filterdiff lsdiff interdiff diff diff3 sdiff cmp colordiff zdiff zcmp delta",
        "-o:W --output:W -I: -x: -X: -U: -C: -L: -W: --label: --exclude: --exclude-from: --color:: --unified:: --context:: \
      --width: --from-file: --to-file: --ignore-matching-lines: --tabsize: --diff-program:",
    ),
    ("ed red", "*ed -p:"),
    ("ex vi vim view nvim gvim rvim vimdiff", "*vim -c: --cmd: -u: -U: -S: -s: -w:W -W:W -T: -i: -t: -q: -r:: -L:: --startuptime:W"),
    ("nano pico emacs emacsclient joe micro hx kak code subl gedit", "?"),
    (
        "less more most pg man info column col colrm look strings file xxd hexdump hd jq fx gron yq xq tree exa eza lsd bat batcat fd fdfind locate which whereis \
      apropos whatis whatchanged zcat bzcat xzcat zstdcat lz4cat gzcat zless zmore nm objdump readelf size ldd addr2line cal bc units ps top htop pgrep pidof lsof free vmstat \
      iostat dmesg netstat ss ip ifconfig ping dig host nslookup traceroute getent getfacl getfattr lsattr tput clear reset lscpu lsblk findmnt df nproc cmake-format \
      shellcheck tokei cloc scc hyperfine jo sum cksum crc32 b3sum locale getconf tty mesg last w wall write finger time ts pee pv ifne combine \
      isutf8 errno lckdo mispipe zrun numactl yamllint gpgconf cpuid apt-cache dpkg-query rpm-query tldr cheat fortune cowsay figlet banner ncal",
        "*show",
    ),
    ("fd fdfind", "*fd -e: -E: -t: -d: -x: -X: --exec: --exec-batch: --extension: --exclude: --type: --max-depth: --glob: -g"),
    ("mount", "*mount -t: -o: -O: -L: -U: --types: --options: --source: --target:"),
    ("xxd", "*xxd -c: -g: -l: -o: -s: -n: -R: -cols: -len: -seek:"),
    ("column", "-t: -s: -o: -N: -H: -c:"),
    ("jq", "*show -n --arg: --argjson: -f: --from-file: --slurpfile: --rawfile: --indent: --tab -L:"),
    (
        "yq",
        "*yq -i? --inplace? --in-place? -o: -p: --output-format: --input-format: -s: --split-exp: -I: --indent: --from-file: -e: --expression: --arg: @2+I",
    ),
    ("sponge", "*sponge"),
    ("iconv", "-o:W --output:W -f: -t: --from-code: --to-code: --byte-subst: --unicode-subst: --widechar-subst:"),
    ("recode", "@2+I"),
    ("dos2unix unix2dos mac2unix d2u u2d", "*dos2unix -c: --convmode: -i::"),
    ("prename rename perl-rename file-rename rename.ul", "*rename -e: -E:"),
    ("tsort comm", ""),
    ("figlet toilet", "-f: -d: -w: -C: -m:"),
    (
        "sqlite3 sqlite",
        "*sqlite -cmd: -init: -separator: -newline: -nullvalue: -mmap: -vfs: -maxsize: -lookaside: -pagecache: -heap: -escape:",
    ),
    ("xmlstarlet xmllint", "-o:W --output:W"),
    ("tidy", "-m? -modify? -o:W -output:W -f:W -file:W -config: @I"),
    ("prettier", "-w? --write? @I --parser: --config: --ignore-path: --plugin:"),
    ("black isort autopep8-all yapf-all ruff-format", "--check! --diff! -l: --line-length: -t: -c!: --config: @B"),
    ("rustfmt", "--check! --emit: --edition: --config-path: --config: @I"),
    ("gofmt goimports clang-format", "-w? -i? @I -style: --style: -r: -d/ -l"),
    ("autopep8 yapf", "-i? --in-place? -r+ @I --max-line-length:"),
    ("shfmt", "-w? @I -i: -ln: -d/"),
    ("eslint stylelint biome", "--fix? -o:W --output-file:W @B -c: --config: -f: --format: --ext: --rulesdir:"),
    ("ruff", "*ruff --fix? -o:W --output-file:W --config: --select: --ignore: --line-length:"),
    (
        "gpg gpg2",
        "-o:W --output:W -r: -u: --recipient: --local-user: --homedir: --passphrase: --passphrase-file: --passphrase-fd: --keyserver: --pinentry-mode:",
    ),
    (
        "openssl",
        "-out:W -keyout:W -CAserial:W -writerand:W -in: -inkey: -key: -CA: -CAkey: -config: -subj: -days: -newkey: -passin: -passout: -pass: -k: -kfile: -K: -iv: -md: -S: \
      -extfile: -extensions: -signature: -verify: -sign: -prverify: -rand: -set_serial: -addext:",
    ),
    ("ssh-keygen", "*sshkeygen -f: -t: -b: -C: -N: -P: -l -F: -R: -m: -O: -I: -n: -V: -s:"),
    ("base64 base32 basenc", "-w: --wrap:"),
    ("head tail", "-n: -c: --lines: --bytes: -s: --pid: --sleep-interval:"),
    ("cut", "-d: -f: -c: -b: --delimiter: --fields: --characters: --bytes: --output-delimiter:"),
    ("paste join", "-d: --delimiters: -t: -1: -2: -o: -a: -e: -v: -j:"),
    ("seq", "-s: -f: -w --separator: --format:"),
    ("stat", "-c: -f --format: --printf: -t"),
    ("date", "-d: --date: -f: --file: -r: --reference: -s: --set: -I:: --iso-8601:: --rfc-3339:"),
    ("wc", "--files0-from: --total:"),
    (
        "ls dir vdir",
        "-I: -w: -T: --ignore: --hide: --sort: --time: --time-style: --block-size: --color:: --format: --indicator-style: --quoting-style: --width: --tabsize: --hyperlink::",
    ),
    // --- archives and packing ------------------------------------------------------------------------------------------
    ("tar gtar bsdtar", "*tar"),
    ("zipsplit", "*zipsplit -b: -n: -r:"),
    ("zipnote", "-b:d -w? @1I"),
    ("unzip", "*unzip -d: -P: -x"),
    ("zip", "*zip -b: -i: -x: -n: -t: -tt: -P: -s: -O:F --out:F --output-file:F -lf:W -TT:"),
    ("cpio", "*cpio -D: --directory: -E: --pattern-file: -F: --file: -I: -O:W -H: --format: -R: --owner: -C: --io-size: -M: --message:"),
    ("ar gcc-ar llvm-ar", "*ar"),
    (
        "gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 unlz4 lzop compress uncompress pigz unpigz pbzip2 brotli",
        "*pack -S: --suffix: -o:W -b: -T: -M: --threads: --memory: -D: -q --output:W --output-dir-flat: --output-dir-mirror:",
    ),
    ("7z 7za 7zr 7zz", "*sevenzip"),
    ("unrar rar", "*unrar"),
    ("ditto", "@$W"),
    ("makeself", "@2W"),
    (
        "rsync",
        "*rsync -e: --rsh: -f: --filter: --exclude: --include: --exclude-from: --include-from: --files-from: --log-file:W --log-file-format: --partial-dir: --backup-dir: \
      --suffix: -T: --temp-dir: --link-dest: --compare-dest: --copy-dest: --password-file: --bwlimit: --timeout: --contimeout: --port: --chmod: --chown: --out-format: --max-size: \
      --min-size: -B: --block-size: -M: --remote-option: --info: --debug: --modify-window: --write-batch:W --only-write-batch:W --read-batch: --address: --iconv: --protocol: \
      --stop-at: --stop-after: --max-delete: --skip-compress: --compress-level: --zl: --compress-choice: --zc: --config: --usermap: --groupmap: --rsync-path: --checksum-choice: --cc: \
      --checksum-seed: --sockopts: --outbuf: --copy-as: --max-alloc: --early-input: --mkpath",
    ),
    ("scp", "*scp -c: -F: -i: -J: -l: -o: -P: -S: -X: -D:"),
    ("sftp ftp lftp telnet nc ncat netcat socat", "?"),
    // --- network --------------------------------------------------------------------------------------------------
    (
        "curl",
        "*curl -o:W --output:W -D:W --dump-header:W -c:W --cookie-jar:W --trace:W --trace-ascii:W --stderr:W --etag-save:W --hsts:W --alt-svc:W --libcurl:W -H: --header: -d: --data: \
      --data-binary: --data-raw: --data-urlencode: --json: -X: --request: -u: --user: -A: --user-agent: -e: --referer: -b: --cookie: -F: --form: --form-string: -T: --upload-file: -x: --proxy: \
      -m: --max-time: --connect-timeout: --retry: --retry-delay: --retry-max-time: -w: --write-out: -K: --config: -E: --cert: --key: --cacert: --capath: -r: --range: -C: --continue-at: \
      --limit-rate: -y: -Y: -z: --time-cond: --resolve: --interface: --dns-servers: --url: --output-dir: --max-redirs: --max-filesize: --proto: --proto-redir: --tls-max: --ciphers: \
      --unix-socket: --oauth2-bearer: -Q: --quote: -t: --netrc-file: --cert-type: --key-type: --pass: --noproxy: -U: --proxy-user: --variable: --expand-url: --rate: --create-file-mode: --parallel-max:",
    ),
    (
        "wget wget2",
        "*wget -O: --output-document: -o:W --output-file:W -a:W --append-output:W -P: --directory-prefix: -i: --input-file: -U: --user-agent: --header: --post-data: --post-file: --method: \
      --body-data: --body-file: -t: --tries: -T: --timeout: -w: --wait: --waitretry: -Q: --quota: --limit-rate: -e: --execute: --load-cookies: --save-cookies:W -A: -R: -D: -I: -X: -l: --level: \
      --user: --password: --ca-certificate: --certificate: --private-key: --cut-dirs: -B: --base: --restrict-file-names: --progress: --warc-file:P --rejected-log:W --referer: --max-redirect: \
      --dns-timeout: --connect-timeout: --read-timeout: --bind-address: --default-page: --accept: --reject: --domains: --exclude-domains:",
    ),
    ("aria2c", "-d:d --dir:d -l:W --log:W -o: --out: -i: @X"),
    ("yt-dlp youtube-dl", "?"),
    // --- attributes and disks ---------------------------------------------------------------------------------------------
    ("setfacl", "@M -R+ --recursive+ -m: -x: -M: -X: --modify: --remove: --set: --set-file: --restore:"),
    ("setfattr", "@M -n: -v: -x: --name: --value: --remove: --restore:"),
    ("chattr", "*chmod -R+ -v: -p:"),
    ("fallocate", "@W -l: --length: -o: --offset:"),
    ("mkswap mke2fs mkfs mkfs.ext4 mkfs.xfs mksquashfs genisoimage xorriso mkisofs", "-o:W -output:W -outdev:W @1W @2W"),
    ("ddrescue", "@2+W"),
    ("logger", ""),
    ("losetup umount swapon swapoff", ""),
    ("logrotate", "?"),
    ("crontab at batch", "?"),
    // --- build, compile -----------------------------------------------------------------------------------------------
    ("cc gcc g++ c++ clang clang++ tcc c99 c89 gfortran gccgo", "*cc -o:W"),
    ("ld ld.bfd ld.gold ld.lld gold", "*ld -o:W --output:W -Map:W -L: -l: -T: -e: -m: -rpath: -soname: -z: -dynamic-linker:"),
    ("as", "*as -o:W -I: -D:"),
    (
        "rustc",
        "*rustc -o: --out-dir: --crate-type: --crate-name: --edition: --emit: -C: --codegen: -L: -l: -A: -W: -D: -F: --cfg: --extern: --target: --print: --explain: -Z: --cap-lints: --error-format: \
      --remap-path-prefix: --sysroot: --color:",
    ),
    ("go", "*go"),
    (
        "strip objcopy",
        "*strip -o:W -O: -I: -K: -N: -R: -j: --strip-symbol: --keep-symbol: --only-section: --remove-section: --add-section: --rename-section:",
    ),
    ("ranlib", "@I"),
    ("protoc", "--cpp_out:d --java_out:d --python_out:d --go_out:d --js_out:d --ruby_out:d -o:W --descriptor_set_out:W -I: --proto_path:"),
    ("flex lex bison yacc byacc", "-o:W --output:W --header-file:W --defines:W -b:P -d::"),
    ("javac", "-d:d -cp: -classpath: --release: -source: -target:"),
    ("jar", "*jar"),
    ("tsc", "--noEmit! --outDir:d --outFile:W -p: --project:"),
    ("sass sassc lessc", "@2W"),
    ("esbuild", "--outfile:W --outdir:d"),
    (
        "pandoc",
        "-o:W --output:W -f: -t: --from: --to: --template: -V: -M: --metadata: --css: -H: -B: -A: --filter: --lua-filter: --extract-media:d",
    ),
    ("pdflatex latex xelatex lualatex", "-output-directory:d -jobname:"),
    ("dot neato fdp sfdp twopi circo", "-o:W -K: -T: -G: -N: -E:"),
    ("gnuplot", "?"),
    (
        "convert magick composite montage import",
        "*convert -size: -resize: -crop: -quality: -font: -pointsize: -fill: -geometry: -gravity: -annotate:",
    ),
    ("mogrify", "@I -resize: -quality: -format: -path:d"),
    ("ffmpeg avconv", "*ffmpeg"),
    ("sox lame flac opusenc", "-o:W @$W"),
    ("cwebp dwebp", "-o:W -q: -resize:"),
    ("pngcrush optipng jpegoptim pngquant", "-o:W -out:W --output:W @I"),
    ("qpdf pdftk pdfunite gs ps2pdf pdftotext pdftoppm", "-o:W -sOutputFile:W @$W"),
    ("wkhtmltopdf wkhtmltoimage", "@$W"),
    ("exiftool", "?"),
    ("make gmake", "*make"),
    ("npm pnpm yarn", "*npm"),
    (
        "bunx npx cargo pip pip3 pipx poetry uv uvx conda mamba gem bundle rake composer mvn gradle gradlew ant cmake ninja meson bazel buck scons just task tox nox pytest jest vitest mocha \
      webpack vite rollup next ng nx turbo lerna docker podman kubectl helm terraform ansible ansible-playbook vagrant dpkg apt apt-get aptitude snap brew yum dnf pacman apk nix nix-shell nix-build \
      pre-commit husky act gh glab hub svn hg bzr fossil darcs jj claude codex gemini opencode aider goose qwen pi amp cursor-agent crush java scala kotlin groovy julia R ghc runghc stack cabal \
      elixir mix iex erl rebar3 swift swiftc xcodebuild dotnet msbuild mono tclsh wish expect guile racket sbcl clisp ocaml dune coqc psql mysql mongo mongosh redis-cli systemctl service journalctl \
      launchctl open xdg-open start screen tmux zellij reptyr lldb bpftrace ipython jupyter irb pry",
        "*anything",
    ),
    // --- the rest of what is often in a pipeline --------------------------------------------------------------------------
    ("write-mbr install-info update-alternatives depmod", ""),
    ("ldconfig", "-C:W -N! -p! -r: -f: -c: --format:"),
    ("ssh-agent", "*wrap"),
    ("ctags etags cscope gtags", "*ctags -f:W -o:W -L:"),
    ("mailx mail sendmail mutt", ""),
    ("uuencode uudecode", "-o:W"),
    ("createdb dropdb pg_dump pg_dumpall mysqldump", "-f:W --file:W -r:W --result-file:W"),
    ("hostnamectl timedatectl loginctl", ""),
    ("vidir vipe", "?"),
    ("chronic", "*wrap"),
    ("gettext msgfmt msgmerge xgettext msginit", "-o:W --output-file:W --output:W -d: -U? --update? @1I -D: -L: -k::"),
    ("help2man", "-o:W --output:W -n: -s: -N"),
    ("asciidoctor asciidoc", "-o:W --out-file:W -D:d -b: -a:"),
    ("dc", "*dc -e: --expression: -f: --file:"),
    ("m4", "*m4 -o:W --error-output:W -F:W --freeze-state:W -I: -D: -U: -R:"),
    ("indent", "*indent -o:W"),
    ("uncrustify astyle", "-o:W -c: -f: @I"),
];

/// The marks of a command; none where the table does not know it.
pub(crate) fn row(name: &str) -> Option<&'static str> {
    static MAP: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let map = MAP.get_or_init(|| {
        let mut m = HashMap::new();
        for (names, marks) in ROWS {
            for n in names.split_ascii_whitespace() {
                m.insert(n, *marks);
            }
        }
        m
    });
    map.get(name).copied()
}
