use super::*;

fn change(was: Option<&str>, will: Option<&str>) -> FileChange {
    let bytes = |text: &str| text.as_bytes().to_vec();
    FileChange { path: "/x".into(), mode: None, was: was.map(bytes), will: will.map(bytes) }
}

fn said(was: Option<&str>, will: Option<&str>, now: Option<&str>) -> Result<How, String> {
    let now = now.map_or(Now::Nothing, |text| Now::File(text.as_bytes().to_vec(), 0o644));
    decide(&change(was, will), &now).map(|(how, _)| how)
}

#[test]
fn each_case_has_one_end() {
    use How::{Already, Changed, Created, Merged, Removed};
    assert_eq!(said(Some("a\n"), Some("b\n"), Some("a\n")), Ok(Changed));
    assert_eq!(said(Some("a\n"), Some("b\n"), Some("b\n")), Ok(Already));
    assert_eq!(said(Some("a\nx\ny\n"), Some("b\nx\ny\n"), Some("a\nx\nz\n")), Ok(Merged));
    assert!(said(Some("a\n"), Some("b\n"), Some("c\n")).unwrap_err().contains("line 1"));
    assert!(said(Some("a\n"), Some("b\n"), None).is_err());
    assert_eq!(said(None, Some("b\n"), None), Ok(Created));
    assert_eq!(said(None, Some("b\n"), Some("b\n")), Ok(Already));
    assert!(said(None, Some("b\n"), Some("c\n")).is_err());
    assert_eq!(said(Some("a\n"), None, Some("a\n")), Ok(Removed));
    assert_eq!(said(Some("a\n"), None, None), Ok(Already));
    assert!(said(Some("a\n"), None, Some("b\n")).is_err());
    assert!(said(Some("a\0"), Some("b\0"), Some("c\0")).is_err());
    assert_eq!(said(Some("a\0"), Some("b\0"), Some("a\0")), Ok(Changed));
    assert!(decide(&change(Some("a"), Some("b")), &Now::Other).is_err());
}

#[test]
fn a_mode_alone_is_a_change() {
    let change = FileChange { mode: Some(0o755), ..change(Some("a"), Some("a")) };
    let (how, step) = decide(&change, &Now::File(b"a".to_vec(), 0o644)).unwrap();
    assert!(how == How::Changed && matches!(step.as_slice(), [Step::Write { mode: Some(0o755), .. }]));
    assert_eq!(decide(&change, &Now::File(b"a".to_vec(), 0o755)).unwrap(), (How::Already, Vec::new()));
}

#[test]
fn what_a_try_that_was_cut_off_noted_is_done_but_for_its_mode() {
    let stands = Now::File(b"b".to_vec(), 0o644);
    let noted = digest::sha256(b"b");
    let ended = |change: &FileChange| ended(change, &stands, std::iter::once(noted.as_str()));
    assert_eq!(ended(&change(Some("a"), Some("b"))), Some((How::Changed, None)));
    let wanted = |mode| FileChange { mode: Some(mode), ..change(Some("b"), Some("b")) };
    assert_eq!(ended(&wanted(0o644)), Some((How::Changed, None)));
    assert!(matches!(ended(&wanted(0o755)), Some((How::Changed, Some(Step::Write { mode: Some(0o755), .. })))));
    let other = digest::sha256(b"c");
    assert_eq!(super::ended(&wanted(0o755), &stands, std::iter::once(other.as_str())), None);
}

#[test]
fn links_come_and_go() {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let link = |was: Option<&str>, will: Option<&str>| FileChange { mode: will.map(|_| LINK), ..change(was, will) };
    let said = |change: &FileChange, now: Now| decide(change, &now).map(|(how, steps)| (how, steps.len()));
    assert_eq!(said(&link(None, Some("a")), Now::Nothing), Ok((How::Created, 1)));
    assert_eq!(said(&link(None, Some("a")), Now::Link(bytes("a"))), Ok((How::Already, 0)));
    assert_eq!(said(&link(Some("a"), Some("b")), Now::Link(bytes("a"))), Ok((How::Changed, 2)));
    assert_eq!(said(&link(Some("text"), Some("b")), Now::File(bytes("text"), 0o644)), Ok((How::Changed, 2)));
    assert_eq!(said(&change(Some("a"), Some("text")), Now::Link(bytes("a"))), Ok((How::Changed, 2)));
    assert_eq!(said(&change(Some("a"), None), Now::Link(bytes("a"))), Ok((How::Removed, 1)));
    assert!(said(&link(Some("a"), Some("b")), Now::Link(bytes("c"))).is_err());
    assert!(said(&link(Some("a"), Some("b")), Now::Nothing).is_err());
    assert!(said(&link(None, Some("b")), Now::File(bytes("x"), 0o644)).is_err());
}
