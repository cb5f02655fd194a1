//! Numbers only: arrays that may be mapped from a file, matrices dense and sparse,
//! and their products.

mod array;
mod combine;
mod even;
mod exponentials;
mod gemm;
mod matrix;
mod narrow;
mod orthonormal;
mod real;
mod rows_product;
mod simd;
mod sparse;

pub use array::{Array, Element};
pub(crate) use combine::{
    Gather, HELD, Rest, add_one, add_one_wide, add_rows, add_scaled, center_and_scale, dot, gather,
    squares, sum,
};
pub(crate) use even::{EvenLists, EvenStep, Line};
pub use gemm::{Write, gemm, gemm_slice};
pub use matrix::{Matrix, View};
pub(crate) use narrow::{FEW, ROWS, add_scores, add_sums};
pub(crate) use orthonormal::{orthonormal_columns, orthonormal_combinations};
pub use real::Real;
pub use rows_product::rows_product;
pub use simd::{Blend, Signs, Simd, Work};
pub use sparse::Sparse;
