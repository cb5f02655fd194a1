use std::fs;

use super::*;
use crate::io::testing::{mutated, mutations, names, on_full_disk};
use crate::rng::Stream;

const REMEDY: &str = "train again";

fn example() -> Vec<NamedTensor> {
    let tensor = |name: &str, shape: &[usize], values| NamedTensor {
        name: name.to_owned(),
        shape: shape.to_vec(),
        values,
    };
    vec![
        tensor("empty", &[0, 7], TensorValues::F32(vec![])),
        tensor("gcn.0.bias", &[3], TensorValues::F32(vec![-0.0, f32::MIN_POSITIVE, 1e-40])),
        tensor("gcn.0.weight", &[2, 3], TensorValues::F32((0..6).map(|i| i as f32).collect())),
        tensor("schéma \"x\"", &[5], TensorValues::U8(b"{\"a\":".to_vec())),
        tensor("step", &[], TensorValues::U64(vec![u64::MAX])),
    ]
}

fn write(path: &Path, tensors: &[NamedTensor]) -> Result<()> {
    write_tensors(path, &tensors.iter().map(NamedTensor::view).collect::<Vec<_>>())
}

/// A file as another program would write it: no checksum.
fn foreign(header: &str, values: &[u8]) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), values].concat()
}

#[test]
fn tensors_come_back_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write(&path, &example()).unwrap();
    assert_eq!(read_tensors(&path, REMEDY).unwrap(), example());
    let bytes = fs::read(&path).unwrap();
    let mut other: Vec<_> = example();
    other.reverse();
    write(&path, &other).unwrap();
    assert!(fs::read(&path).unwrap() == bytes, "the order of writing leaves no trace");
    write(&path, &[]).unwrap();
    assert_eq!(read_tensors(&path, REMEDY).unwrap(), []);
    assert_eq!(names(folder.path()), ["model.safetensors"]);
}

/// The crate's own reader as the second opinion.
#[test]
fn the_format_is_that_of_the_crate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write(&path, &example()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.len(), 5);
    for tensor in example() {
        let seen = file.tensor(&tensor.name).unwrap();
        assert_eq!(seen.shape(), tensor.shape);
        assert_eq!((seen.dtype(), seen.data()), (tensor.view().dtype(), tensor.view().bytes()));
        let place = seen.data().as_ptr() as usize - bytes.as_ptr() as usize;
        assert_eq!(place % (tensor.view().dtype().bitsize() / 8), 0, "{}", tensor.name);
    }
    let theirs = safetensors::serialize(file.tensors(), None).unwrap();
    fs::write(&path, theirs).unwrap();
    assert_eq!(read_tensors(&path, REMEDY).unwrap(), example());
}

#[test]
fn each_damage_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let one = r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let changed = |from: &str, to: &str| foreign(&one.replace(from, to), &[0; 8]);
    let nan = [1f32, f32::NAN].map(f32::to_le_bytes).concat();
    let mut flipped = {
        write(&path, &example()).unwrap();
        fs::read(&path).unwrap()
    };
    *flipped.last_mut().unwrap() ^= 1;
    let huge = [&(1u64 << 40).to_le_bytes()[..], b"{}"].concat();
    let long = [&(1u64 << 25).to_le_bytes()[..], &vec![b' '; 1 << 25]].concat();
    for (bytes, problem) in [
        (vec![], "has 0 bytes, too few"),
        (huge, "claims a header of 1099511627776 bytes, but 2 are left"),
        (long, "claims a header of 33554432 bytes, which no model has"),
        (foreign("not JSON", &[]), "its header cannot be read: expected ident"),
        (foreign(one, &[0; 7]), "its tensors take 8 bytes, but 7 follow the header"),
        (foreign(one, &[0; 9]), "its tensors take 8 bytes, but 9 follow the header"),
        (changed("[2]", "[3]"), "invalid shape, data type, or offset"),
        (changed("[2]", "[4611686018427387904,8]"), "overflow"),
        (changed("[0,8]", "[8,16]"), "invalid offset for tensor `w`"),
        (changed("[0,8]", "[8,0]"), "invalid offset for tensor `w`"),
        (changed("F32", "F128"), "unknown variant `F128`"),
        (changed("F32\",\"shape\":[2]", "I16\",\"shape\":[4]"), "tensor \"w\" has type I16, not"),
        (foreign(one, &nan), "tensor \"w\" holds NaN as value 1"),
        (flipped, "its values have changed since they were written"),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = read_tensors(&path, REMEDY).unwrap_err();
        assert!(matches!(error, Error::Store { .. }), "{error}");
        let told = error.to_string();
        assert!(told.contains(problem) && told.ends_with("; train again"), "{problem}: {told}");
    }
    fs::write(&path, foreign(one, &[0; 8])).unwrap();
    let zeros = TensorValues::F32(vec![0.0; 2]);
    assert_eq!(read_tensors(&path, REMEDY).unwrap()[0].values, zeros);
    fs::remove_file(&path).unwrap();
    assert!(matches!(read_tensors(&path, REMEDY), Err(Error::Io { .. })));
}

/// A damaged file is refused, or the damage was to what says nothing.
#[test]
fn damage_never_panics_and_never_changes_a_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write(&path, &example()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let damaged = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        match read_tensors(&path, REMEDY) {
            Ok(tensors) => assert_eq!(tensors, example()),
            Err(Error::Store { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    };
    for end in 0..bytes.len() {
        damaged(&bytes[..end]);
    }
    for place in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        damaged(&flipped);
    }
    let mut stream = Stream::new(1, "tensors", 0);
    for _ in 0..mutations() {
        let several = mutated(&bytes, &mut stream);
        fs::write(&path, several).unwrap();
        let _ = read_tensors(&path, REMEDY);
    }
}

#[test]
fn numbers_that_are_none_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write(&path, &example()).unwrap();
    let mut tensors = example();
    tensors[1].values = TensorValues::F32(vec![0.0, 1.0, f32::NEG_INFINITY]);
    let error = write(&path, &tensors).unwrap_err().to_string();
    assert!(error.contains("tensor \"gcn.0.bias\" holds -inf as value 2; "), "{error}");
    assert_eq!(read_tensors(&path, REMEDY).unwrap(), example());
}

#[cfg(unix)]
#[test]
fn a_full_disk_keeps_the_old_file() {
    if !on_full_disk("io::tensors::tests::a_full_disk_keeps_the_old_file", 200) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write(&path, &example()).unwrap();
    let large = NamedTensor {
        name: "w".into(),
        shape: vec![1000, 1000],
        values: TensorValues::F32(vec![0.5; 1_000_000]),
    };
    let error = write(&path, &[large]).unwrap_err();
    assert!(matches!(error, Error::Io { action: "write", .. }), "{error}");
    assert!(error.to_string().contains("model.safetensors: cannot write: "), "{error}");
    assert_eq!(names(folder.path()), ["model.safetensors"]);
    assert_eq!(read_tensors(&path, REMEDY).unwrap(), example());
}
