//! Models of every version stay readable.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;

use subgcon::config::{RowScale, Source};
use subgcon::io::model::read_model;

/// Three steps of the reference preset on four nodes with the features x, y and z,
/// projected onto two vectors. Numbers are as Python's `struct` finds them in the file.
#[test]
fn version_1() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/version-1.model");
    let (model, config) = read_model(&path).unwrap();
    assert_eq!((config.version, config.embedding_width), (1, 4));
    assert_eq!(config.features.names, ["x", "y", "z"]);
    assert_eq!((model.provenance.nodes, model.provenance.step), (4, 3));
    assert_eq!(model.settings.features.rows, RowScale::Norm(2.0));
    assert_eq!(model.settings.output[1].source, Source::Features);
    let named = model.encoder.named();
    let values = |name: &str| named.iter().find(|(found, ..)| found == name).unwrap().2;
    let weight = [0.221_957_5, -0.079_355_83, -1.076_413_5, 0.394_198_1];
    assert_eq!(values("layers.0.weight"), weight);
    assert_eq!(values("layers.0.slope"), [0.250_101_86, 0.249_948_74]);
    assert_eq!(model.transform.mean.as_deref(), Some(&[1.495_541_6, -0.081_342_734][..]));
    let vectors = model.transform.vectors.as_ref().unwrap();
    assert_eq!((vectors.rows, vectors.width, vectors.values[4]), (3, 2, 0.700_896_9));
    assert_eq!(model.means[0], None);
    assert_eq!(model.means[1].as_ref().unwrap().len(), 2);
}
