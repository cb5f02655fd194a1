//! Pickles assembled by hand, byte by byte, and what becomes of hostile ones.

use super::*;
use crate::io::csr::Csr;

fn parse(bytes: &[u8]) -> Result<Pickle> {
    Pickle::parse(Path::new("p"), bytes.to_vec())
}

fn program(body: &[&[u8]]) -> Vec<u8> {
    [b"\x80\x02", body.concat().as_slice(), b"."].concat()
}

/// An array of one or two dimensions below 256.
fn array(code: &str, shape: &[u8], fortran: bool, bytes: &[u8]) -> Vec<u8> {
    let shape: Vec<u8> = shape.iter().flat_map(|&length| [b'K', length]).collect();
    [
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01(",
        &shape[..],
        b"tcnumpy\ndtype\nU",
        &[code.len() as u8],
        code.as_bytes(),
        b"K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb",
        &[if fortran { 0x88 } else { 0x89 }],
        b"T",
        &(bytes.len() as u32).to_le_bytes(),
        bytes,
        b"tb",
    ]
    .concat()
}

fn text(word: &str) -> Vec<u8> {
    [b"U", &[word.len() as u8][..], word.as_bytes()].concat()
}

fn csr(shape: [u8; 2], indptr: &[i32], indices: &[i32], data: &[f32]) -> Vec<u8> {
    program(&[
        b"cscipy.sparse.csr\ncsr_matrix\n)\x81}(",
        &text("_shape"),
        &[b'K', shape[0], b'K', shape[1], 0x86],
        &text("indptr"),
        &array("i4", &[indptr.len() as u8], false, bytemuck::cast_slice(indptr)),
        &text("indices"),
        &array("i4", &[indices.len() as u8], false, bytemuck::cast_slice(indices)),
        &text("data"),
        &array("f4", &[data.len() as u8], false, bytemuck::cast_slice(data)),
        b"ub",
    ])
}

fn lists(bytes: &[u8]) -> Result<Vec<(i64, Vec<i64>)>> {
    let pickle = parse(bytes)?;
    let mut all = Vec::new();
    pickle.lists(pickle.root(), |key, items| {
        all.push((key, items.collect::<Result<_>>()?));
        Ok(())
    })?;
    Ok(all)
}

#[test]
fn dictionaries_of_lists_are_read() {
    let graph = program(&[
        b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(",
        b"K\x05](K\x01M\x00\x01e",     // 5: [1, 256]
        b"J\xff\xff\xff\xff]K\x02a",   // -1: [2]
        b"K\x07]\x8a\x02\x00\xff\x61", // 7: [-256]
        b"uK\x08]s",                   // 8: []
    ]);
    let expected = vec![(5, vec![1, 256]), (-1, vec![2]), (7, vec![-256]), (8, vec![])];
    assert_eq!(lists(&graph).unwrap(), expected);
}

#[test]
fn arrays_are_read_in_rows() {
    let bytes: Vec<u8> = (1..=6).flat_map(i32::to_le_bytes).collect();
    for (fortran, expected) in [(false, [1, 2, 3, 4, 5, 6]), (true, [1, 3, 5, 2, 4, 6])] {
        let pickle = parse(&program(&[&array("i4", &[2, 3], fortran, &bytes)])).unwrap();
        let view = pickle.array(pickle.root(), "y").unwrap();
        assert_eq!(view.shape, [2, 3]);
        assert_eq!(pickle.values::<i64>(&view, "y").unwrap(), expected);
    }
}

#[test]
fn sparse_matrices_are_read() {
    let pickle = parse(&csr([2, 4], &[0, 1, 3], &[3, 0, 2], &[1.0, 2.0, 0.5])).unwrap();
    let expected = Csr {
        width: 4,
        offsets: vec![0, 1, 3],
        indices: vec![3, 0, 2],
        values: vec![1.0, 2.0, 0.5],
    };
    assert_eq!(pickle.csr(pickle.root()).unwrap(), expected);
}

#[test]
fn matrices_that_do_not_fit_are_refused() {
    let read = |bytes: &[u8]| {
        let pickle = parse(bytes)?;
        pickle.csr(pickle.root())
    };
    assert!(read(&csr([2, 4], &[0, 2, 1], &[3], &[1.0])).is_err());
    assert!(read(&csr([2, 3], &[0, 1, 1], &[3], &[1.0])).is_err());
    assert!(read(&csr([2, 4], &[0, 1, 1], &[-1], &[1.0])).is_err());
    assert!(read(&csr([3, 4], &[0, 1, 1], &[3], &[1.0])).is_err());
    assert!(read(&program(&[b"cscipy.sparse.csr\ncsr_matrix\n)\x81}b"])).is_err());
    assert!(read(&program(&[b"N"])).is_err());
    // An array whose bytes are fewer than its shape claims.
    let pickle = parse(&program(&[&array("i4", &[200, 200], false, &[0; 8])])).unwrap();
    let error = pickle.array(pickle.root(), "y").unwrap_err().to_string();
    assert!(error.contains("claims shape [200, 200]"), "{error}");
    let pickle = parse(&program(&[&array("O8", &[1], false, &[0; 8])])).unwrap();
    assert!(pickle.array(pickle.root(), "y").is_err());
}

#[test]
fn foreign_globals_and_instructions_are_refused_by_name() {
    for (body, reason) in [
        (&b"cos\nsystem\nU\x04true\x85R"[..], "p, byte 2: names the global \"os system\""),
        (b"c__builtin__\neval\n", "\"__builtin__ eval\""),
        (b"cnumpy\nload\n", "\"numpy load\""),
        (b"cos", "global without end"),
        (b"(ios\nsystem\n", "INST (0x69)"),
        (b"\x8c\x02os\x8c\x06system\x93", "SHORT_BINUNICODE"),
        (b"K\x010", "byte 4: has the instruction POP"),
        (b"Pabc\n", "PERSID"),
        (b"\x95\0\0\0\0\0\0\0\0", "FRAME"),
        (b"\xff", "0xff, which no pickle has"),
        (b"cnumpy\nndarray\n)R", "calls NdArray"),
        (b"cnumpy\nndarray\n)\x81", "not csr_matrix"),
        (b"K\x01)R", "not a known global"),
        (b"ccollections\ndefaultdict\ncnumpy\nndarray\n\x85R", "calls DefaultDict"),
        (b"]}b", "takes none"),
    ] {
        let error = parse(&program(&[body])).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert!(parse(b"(lp0\n.").unwrap_err().to_string().contains("protocol 2"));
    assert!(parse(b"\x80\x05N.").unwrap_err().to_string().contains("protocol 5"));
}

#[test]
fn broken_programs_are_refused() {
    for (body, reason) in [
        (&b""[..], "empty stack"),
        (b"(", "empty stack"),
        (b"K\x01t", "never set"),
        (b"K\x01\x86", "empty stack"),
        (b"K\x01(\x85", "empty stack"),
        (b"](a", "empty stack"),
        (b"K\x01K\x02a", "has no parts"),
        (b"}K\x02a", "not a list"),
        (b"](K\x01K\x02u", "not a dictionary"),
        (b"}(K\x01u", "key but no value"),
        (b"h\x07", "recalls 7"),
        (b"j\xff\xff\xff\xff", "recalls 4294967295"),
        (b"q\x01", "empty stack"),
        (b"T\xff\xff\xff\x7f", "claims a text of 2147483647 bytes but only 1 are left"),
        (b"T\xff\xff\xff\xff", "claims a text of -1 bytes"),
        (b"X\xff\xff\xff\xff", "claims a text of 4294967295 bytes"),
        (b"\x8a\x09\0\0\0\0\0\0\0\0\0", "integer of 9 bytes"),
        (b"N.N", "goes on after the end"),
    ] {
        let error = parse(&program(&[body])).unwrap_err().to_string();
        assert!(error.contains(reason), "{body:?}: {error}");
    }
    // The memo is a table of what is there, not a list up to the largest key.
    assert!(parse(&program(&[b"Nr\xff\xff\xff\xff"])).is_ok());
    let whole = csr([2, 4], &[0, 1, 3], &[3, 0, 2], &[1.0, 2.0, 0.5]);
    for end in 0..whole.len() {
        assert!(parse(&whole[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn deep_nesting_is_harmless() {
    let levels = 1_000_000;
    let lists = program(&[&b"]".repeat(levels), &b"a".repeat(levels - 1)]);
    assert!(parse(&lists).is_ok());
    let tuples = program(&[b"N", &b"\x85".repeat(levels)]);
    assert!(parse(&tuples).is_ok());
    let marks = program(&[&b"(".repeat(levels), &b"t".repeat(levels)]);
    assert!(parse(&marks).is_ok());
}

#[test]
fn a_pickle_that_contains_itself_is_harmless() {
    let own = program(&[b"}q\x00K\x01h\x00s"]);
    assert!(lists(&own).is_err());
    let own_state = program(&[b"cscipy.sparse.csr\ncsr_matrix\n)\x81q\x00h\x00b"]);
    let pickle = parse(&own_state).unwrap();
    assert!(pickle.csr(pickle.root()).is_err());
    assert!(pickle.array(pickle.root(), "y").is_err());
}

#[test]
fn a_shared_list_does_not_unfold() {
    let list = [b"](", &b"K\x01".repeat(1000)[..], b"eq\x00"].concat();
    let shared = program(&[b"}(K\x01", &list, &b"K\x02h\x00".repeat(1000), b"u"]);
    assert!(lists(&shared).unwrap_err().to_string().contains("same list"));
}

#[test]
fn other_things_than_lists_of_integers_are_refused() {
    for body in [&b"N"[..], b"}K\x01K\x02s", b"}K\x01]Nas", b"}U\x01a]s"] {
        assert!(lists(&program(&[body])).is_err());
    }
}
