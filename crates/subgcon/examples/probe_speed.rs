//! How long does a linear probe take to fit?
//!
//! ```text
//! probe_speed ROWS CLASSES WIDTH C...
//! ```
//!
//! Reads f32 and u32 as they lie in two files, fits each C from the one before, and
//! prints seconds without reading. `bench/probe_speed.py` runs it beside scikit-learn.

use std::time::Instant;

use subgcon::eval::{Logistic, LogisticSettings};
use subgcon::math::Matrix;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rows, classes, width, grid @ ..] = &arguments[..] else {
        return Err("usage: probe_speed ROWS CLASSES WIDTH C...".into());
    };
    let bytes = std::fs::read(rows)?;
    let values: Vec<f32> = bytes.as_chunks().0.iter().map(|&x| f32::from_le_bytes(x)).collect();
    let bytes = std::fs::read(classes)?;
    let targets: Vec<u32> = bytes.as_chunks().0.iter().map(|&x| u32::from_le_bytes(x)).collect();
    let rows = Matrix::of(targets.len(), width.parse()?, values);
    let classes = targets.iter().max().map_or(0, |&c| c as usize + 1);
    let started = Instant::now();
    let mut previous: Option<Logistic> = None;
    for c in grid {
        let settings = LogisticSettings { c: c.parse()?, ..LogisticSettings::default() };
        let fit = Logistic::fit(&rows, &targets, classes, &settings, previous.as_ref())?;
        if !fit.converged {
            return Err(format!("C = {c} did not converge: {}", fit.gradient).into());
        }
        previous = Some(fit);
    }
    println!("{}", started.elapsed().as_secs_f64());
    Ok(())
}
