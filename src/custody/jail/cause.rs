//! Why there is no jail here, in words, with what helps: a pure function of what the machine says.

use crate::sys::jail::{Facts, Stage, Trouble};
use crate::sys::shown;

/// What is likely to be the cause, and what would help; `None` where nothing is known.
#[must_use]
pub fn cause(trouble: &Trouble, facts: &Facts) -> Option<String> {
    let errno = nix_errno(trouble.errno);
    match (trouble.stage, errno) {
        (Stage::System, _) => Some("this system has no mount namespaces; only Linux does".to_owned()),
        (Stage::Namespace, "ENOSPC" | "EUSERS") if facts.max_user_namespaces == Some(0) => {
            Some("the sysctl user.max_user_namespaces is 0; to allow them: sysctl -w user.max_user_namespaces=15000".to_owned())
        }
        (Stage::Namespace, "ENOSPC" | "EUSERS") => {
            Some("there are too many user namespaces, or too many inside each other (user.max_user_namespaces)".to_owned())
        }
        (Stage::Namespace, "ENOSYS") => Some("this kernel has no user namespaces, or a seccomp filter hides them".to_owned()),
        (Stage::Namespace, "EPERM") if facts.unprivileged_userns == Some(0) => {
            Some("the sysctl kernel.unprivileged_userns_clone is 0; to allow them: sysctl -w kernel.unprivileged_userns_clone=1".to_owned())
        }
        (Stage::Namespace, "EPERM") if facts.filtered => {
            Some("a seccomp filter sits on this process, as in a container: it has to allow unshare, mount, open_tree, move_mount and mount_setattr".to_owned())
        }
        (Stage::Namespace | Stage::Ids | Stage::Private, "EPERM" | "EACCES") if facts.apparmor_restricts == Some(1) || facts.profile.is_some() => {
            Some(apparmor(facts))
        }
        (Stage::Namespace, "EPERM") => Some("this process is in a chroot, or a security module forbids user namespaces".to_owned()),
        (Stage::Private | Stage::Mount | Stage::Clone | Stage::ReadOnly | Stage::Overlay, "EPERM") => Some(if facts.filtered {
            "a Landlock sandbox or a seccomp filter that this process was started in forbids mounts".to_owned()
        } else {
            "a Landlock sandbox that this process was started in forbids mounts".to_owned()
        }),
        (Stage::Private | Stage::Mount, "EACCES") => Some(apparmor(facts)),
        (Stage::Clone | Stage::ReadOnly | Stage::Mount, "ENOENT") => Some("it has vanished since the tree was looked at; try again".to_owned()),
        (Stage::Mount | Stage::Clone, "ENOSPC") => Some("there are too many mounts (sysctl fs.mount-max)".to_owned()),
        (Stage::Overlay, "EINVAL") => {
            Some("the state folder lies on a disk that can't take a layer's changes, such as another overlay; move it with XDG_STATE_HOME".to_owned())
        }
        (Stage::Overlay, "ENODEV") => Some("this kernel has no overlay file system".to_owned()),
        _ => None,
    }
}

fn apparmor(facts: &Facts) -> String {
    let program = facts.program.as_deref().map_or_else(|| "/path/to/loci".to_owned(), |path| shown::path(path).to_string());
    let line = format!("abi <abi/4.0>, include <tunables/global> profile loci {program} flags=(unconfined) {{ userns, }}");
    match &facts.profile {
        Some(profile) => format!(
            "the AppArmor profile `{}` forbids it; a profile of its own would allow it, as /etc/apparmor.d/loci: {line}",
            shown::text(profile)
        ),
        None => format!("AppArmor lets only programs with a profile make user namespaces; as /etc/apparmor.d/loci: {line}"),
    }
}

/// The name of an error number, for those that are told apart here.
fn nix_errno(number: i32) -> &'static str {
    crate::sys::shown::errno(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stage: Stage, errno: i32, facts: Facts) -> String {
        cause(&Trouble { stage, path: None, errno }, &facts).unwrap_or_default()
    }

    #[test]
    fn each_cause_is_told_from_the_others() {
        let none = Facts::default;
        assert!(said(Stage::Namespace, 28, Facts { max_user_namespaces: Some(0), ..none() }).contains("max_user_namespaces is 0"));
        assert!(said(Stage::Namespace, 28, Facts { max_user_namespaces: Some(9), ..none() }).contains("too many"));
        assert!(
            said(Stage::Namespace, 1, Facts { unprivileged_userns: Some(0), filtered: true, ..none() })
                .contains("unprivileged_userns_clone")
        );
        assert!(said(Stage::Namespace, 1, Facts { filtered: true, ..none() }).contains("seccomp"));
        assert!(said(Stage::Ids, 1, Facts { apparmor_restricts: Some(1), ..none() }).contains("userns,"));
        assert!(said(Stage::Private, 13, Facts { profile: Some("x".to_owned()), ..none() }).contains("profile `x`"));
        assert!(said(Stage::Private, 1, none()).contains("Landlock"));
        assert!(said(Stage::Clone, 2, none()).contains("vanished"));
        assert!(said(Stage::Overlay, 22, none()).contains("XDG_STATE_HOME"));
        assert_eq!(said(Stage::Command, 2, none()), "");
    }
}
