"""Cells one after the other, outside of the table: for what is asked of a CLI once."""
import ctypes
import os
import platform
import shutil
import tempfile

import cell as cells

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def each(names, scenario, run):
    """Runs `run(job)` for each of these CLIs that is installed; it gives a list of what does not hold, and words for
    the line. Gives how many did not hold. What is left of one that did not stays, and its folder is named."""
    cache = os.environ.get('LOCI_RIG_CACHE', os.path.expanduser('~/.cache/loci-rig'))
    loci = os.path.abspath(os.environ.get('LOCI_BIN', os.path.join(HERE, '../../target/debug/loci')))
    with open(os.path.join(HERE, 'versions')) as f:
        rows = [line.split() for line in f if line.strip() and not line.startswith('#')]
    versions = {row[0]: row[3] for row in rows}
    node = 'node-linux-' + {'x86_64': 'x64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine())
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: a daemon that a CLI leaves behind comes to us
    failed = 0
    for name in names:
        if not all(os.path.exists(os.path.join(cache, '%s-%s' % (p, versions[p]), '.complete')) for p in ('node', name)):
            print('skipped: %s is not installed (tests/harness/setup %s)' % (name, name))
            continue
        folder = tempfile.mkdtemp(prefix=scenario + '-')
        job = {'harness': name, 'scenario': scenario, 'folder': folder + '/cell', 'mode': 'loci', 'loci': loci,
               'cache': cache, 'versions': versions, 'namespace': False, 'keep': True, 'node': node}
        os.makedirs(job['folder'])
        try:
            why, said = run(job)
        except cells.Broken as e:
            why, said = [str(e)], ''
        finally:
            cells.end_descendants()
        print('%-8s %s' % (name, '; '.join(why) or said), *(['(%s)' % folder] if why else []), flush=True)
        failed += bool(why)
        if not why:
            shutil.rmtree(folder, ignore_errors=True)
    return failed
