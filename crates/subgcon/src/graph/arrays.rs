//! What becomes of arrays that somebody holds already? The same graph and features as by
//! way of a store, without a copy where they are as we would have made them.

use rayon::prelude::*;

use super::edges::check_weight;
use super::{Adjacency, EdgeChunk, EdgeList, EdgeRules, Features, MergeCounts, merge};
use crate::error::{Error, Place, Result};
use crate::math::{Array, Sparse};
use crate::progress::Progress;

/// Edges that are handed over together.
const CHUNK: usize = 1 << 20;

impl Adjacency {
    /// From a pile of edges. Endpoints are below `nodes`.
    pub fn from_edges(
        nodes: u32,
        mut edges: EdgeList,
        rules: EdgeRules,
        progress: &dyn Progress,
    ) -> Result<(Adjacency, MergeCounts)> {
        let mut first = 0;
        for chunk in edges.chunks_mut() {
            for (at, weight) in chunk.weights.iter_mut().enumerate() {
                *weight = usable(*weight, first + at)?;
            }
            first += chunk.len();
        }
        edges.drop_unit_weights();
        let mut builder = Adjacency::empty(rules.directed);
        let counts = merge(nodes, edges, rules, &mut builder, progress)?;
        Ok((builder.finish(), counts))
    }

    /// From a matrix by rows (CSR): entry (u, v) is the weight of an arc u → v. Arrays
    /// that hold sorted lists without repeats, self-loops and zeros, and in an undirected
    /// graph every edge both ways, stay where they are.
    pub fn from_rows(
        offsets: Array<u64>,
        neighbours: Array<u32>,
        weights: Option<Array<f32>>,
        rules: EdgeRules,
        progress: &dyn Progress,
    ) -> Result<(Adjacency, MergeCounts)> {
        check_rows(&offsets, &neighbours, offsets.len().saturating_sub(1), "graph")?;
        if let Some(weights) = &weights {
            let bad = weights.par_iter().position_first(|&weight| check_weight(weight).is_err());
            bad.map_or(Ok(0.0), |at| usable(weights[at], at))?;
        }
        let ones = |weights: &Array<f32>| weights.par_iter().all(|&weight| weight == 1.0);
        let weights = weights.filter(|weights| !ones(weights));
        let given = Adjacency { offsets, neighbours, weights, directed: rules.directed };
        if given.is_settled() {
            let arcs = given.arcs();
            return Ok((given, MergeCounts { given: arcs, arcs, ..MergeCounts::default() }));
        }
        let nodes = given.nodes() as u32;
        let mut edges = EdgeList::new();
        let mut chunk = EdgeChunk::default();
        for node in 0..nodes {
            let neighbours = given.neighbours(node);
            chunk.sources.resize(chunk.sources.len() + neighbours.len(), node);
            chunk.targets.extend_from_slice(neighbours);
            chunk.weights.extend_from_slice(given.weights(node).unwrap_or_default());
            if chunk.len() >= CHUNK {
                edges.push(std::mem::take(&mut chunk));
            }
        }
        edges.push(chunk);
        Adjacency::from_edges(nodes, edges, rules, progress)
    }

    /// Whether merging would change nothing.
    fn is_settled(&self) -> bool {
        let nodes = 0..self.nodes() as u32;
        let sorted = nodes.clone().into_par_iter().all(|node| {
            let neighbours = self.neighbours(node);
            neighbours.is_sorted_by(|a, b| a < b) && neighbours.binary_search(&node).is_err()
        });
        let zeros = || self.weights.as_ref().is_some_and(|all| all.par_iter().any(|&w| w == 0.0));
        if !sorted || zeros() {
            return false;
        }
        if self.directed {
            return true;
        }
        // Sources come in rising order: each must be the next in its neighbour's list.
        let mut next = self.offsets.to_vec();
        nodes.into_iter().all(|node| {
            let start = self.offsets[node as usize] as usize;
            self.neighbours(node).iter().enumerate().all(|(at, &neighbour)| {
                let place = next[neighbour as usize] as usize;
                next[neighbour as usize] += 1;
                let inside = (place as u64) < self.offsets[neighbour as usize + 1];
                let same = |weights: &Array<f32>| weights[place] == weights[start + at];
                inside && self.neighbours[place] == node && self.weights.as_ref().is_none_or(same)
            })
        })
    }
}

impl Features {
    /// From all numbers, row by row; kept where they are unless most are zero.
    pub fn from_dense(width: usize, values: Array<f32>) -> Result<Features> {
        check_width(width)?;
        if let Some(at) = values.par_iter().position_first(|x| !x.is_finite()) {
            return Err(bad_value(at / width, at % width, values[at]));
        }
        let nonzeros = values.par_iter().filter(|&&x| x != 0.0).count();
        if nonzeros as f64 >= Features::SPARSE_BELOW * values.len() as f64 {
            return Ok(Features::Dense { width, values });
        }
        let mut offsets = vec![0u64];
        let mut columns = Vec::with_capacity(nonzeros);
        let mut kept = Vec::with_capacity(nonzeros);
        for row in values.chunks_exact(width) {
            for (column, &value) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                columns.push(column as u32);
                kept.push(value);
            }
            offsets.push(columns.len() as u64);
        }
        let (offsets, columns, values) = (offsets.into(), columns.into(), kept.into());
        Ok(Features::Sparse(Sparse { width, offsets, columns, values }))
    }

    /// From a matrix by rows (CSR). Columns of a row in any order; repeats are added up and
    /// zeros left out.
    pub fn from_rows(given: Sparse) -> Result<Features> {
        let width = given.width;
        check_width(width)?;
        check_rows(&given.offsets, &given.columns, width, "features")?;
        if let Some(at) = given.values.par_iter().position_first(|x| !x.is_finite()) {
            let row = given.offsets.partition_point(|&start| start <= at as u64) - 1;
            return Err(bad_value(row, given.columns[at] as usize, given.values[at]));
        }
        let settled = given.values.par_iter().all(|&x| x != 0.0)
            && (0..given.rows())
                .into_par_iter()
                .all(|row| given.row(row).0.is_sorted_by(|a, b| a < b));
        let matrix = if settled { given } else { added_up(&given)? };
        let cells = matrix.rows() as f64 * width as f64;
        if (matrix.values.len() as f64) < Features::SPARSE_BELOW * cells {
            return Ok(Features::Sparse(matrix));
        }
        let mut values = vec![0.0; matrix.rows() * width];
        values.par_chunks_mut(width).enumerate().for_each(|(row, out)| {
            let (columns, values) = matrix.row(row);
            columns.iter().zip(values).for_each(|(&column, &value)| out[column as usize] = value);
        });
        Ok(Features::Dense { width, values: values.into() })
    }
}

/// Sorted rows, repeats added in the order in which they were given.
fn added_up(given: &Sparse) -> Result<Sparse> {
    let mut offsets = vec![0u64];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    let mut entries: Vec<(u32, f32)> = Vec::new();
    for row in 0..given.rows() {
        let (at, what) = given.row(row);
        entries.clear();
        entries.extend(at.iter().copied().zip(what.iter().copied()));
        entries.sort_by_key(|entry| entry.0);
        entries.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        if let Some(&(column, value)) = entries.iter().find(|entry| !entry.1.is_finite()) {
            return Err(bad_value(row, column as usize, value));
        }
        entries.iter().filter(|entry| entry.1 != 0.0).for_each(|&(column, value)| {
            columns.push(column);
            values.push(value);
        });
        offsets.push(columns.len() as u64);
    }
    let (offsets, columns, values) = (offsets.into(), columns.into(), values.into());
    Ok(Sparse { width: given.width, offsets, columns, values })
}

/// Offsets run from 0 to the number of entries, and entries are below `width`.
fn check_rows(offsets: &[u64], entries: &[u32], width: usize, thing: &str) -> Result<()> {
    let whole = offsets.first() == Some(&0) && offsets.last() == Some(&(entries.len() as u64));
    if !whole || offsets.par_windows(2).any(|pair| pair[0] > pair[1]) {
        let problem = format!("row offsets do not rise from 0 to {}", entries.len());
        return Err(Error::input(std::path::Path::new(thing), problem, "give a whole CSR matrix"));
    }
    match entries.par_iter().position_first(|&entry| entry as usize >= width) {
        None => Ok(()),
        Some(at) => {
            let row = offsets.partition_point(|&start| start <= at as u64) - 1;
            let problem = format!("column {} is outside 0 to {}", entries[at], width as i64 - 1);
            Err(Error::input(Place::row(thing, row as u64), problem, "give a whole CSR matrix"))
        }
    }
}

fn check_width(width: usize) -> Result<()> {
    match width {
        0 => Err(Error::setting("features", "0 columns", "give at least one column")),
        _ => Ok(()),
    }
}

fn usable(weight: f32, edge: usize) -> Result<f32> {
    check_weight(weight).map_err(|problem| {
        Error::input(
            Place::row("edge weights", edge as u64),
            format!("{weight} {problem}"),
            "weights must be finite and not negative: mend it, or leave weights out",
        )
    })
}

fn bad_value(row: usize, column: usize, value: f32) -> Error {
    Error::input(
        Place::row("features", row as u64),
        format!("feature {column} is {value}"),
        "features must be finite numbers: replace or remove it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn rows(
        offsets: &[u64],
        neighbours: &[u32],
        weights: Option<&[f32]>,
        directed: bool,
    ) -> Result<(Adjacency, MergeCounts)> {
        let weights = weights.map(|weights| weights.to_vec().into());
        let rules = EdgeRules { directed, ..EdgeRules::default() };
        let (offsets, neighbours) = (offsets.to_vec().into(), neighbours.to_vec().into());
        Adjacency::from_rows(offsets, neighbours, weights, rules, &Silent)
    }

    #[test]
    fn a_settled_matrix_stays_where_it_is() {
        let neighbours: Array<u32> = vec![1, 2, 0, 0].into();
        let place = neighbours.as_ptr();
        let offsets: Array<u64> = vec![0, 2, 3, 4].into();
        let weights: Array<f32> = vec![2.0, 0.5, 2.0, 0.5].into();
        let rules = EdgeRules::default();
        let made = Adjacency::from_rows(offsets, neighbours, Some(weights), rules, &Silent);
        let (graph, counts) = made.unwrap();
        assert_eq!(graph.neighbours.as_ptr(), place);
        assert_eq!((counts.given, counts.arcs, counts.mirrored), (4, 4, 0));
        assert_eq!(graph.weights(0), Some(&[2.0, 0.5][..]));
    }

    #[test]
    fn whatever_else_is_merged() {
        // One way only; unsorted; a repeat; a self-loop; unequal weights; a zero.
        type Case<'a> = (&'a [u64], &'a [u32], Option<&'a [f32]>);
        let cases: [Case<'_>; 6] = [
            (&[0, 2, 2, 2], &[1, 2], None),
            (&[0, 2, 3, 4], &[2, 1, 0, 0], None),
            (&[0, 3, 4, 5], &[1, 1, 2, 0, 0], None),
            (&[0, 3, 4, 5], &[0, 1, 2, 0, 0], None),
            (&[0, 2, 3, 4], &[1, 2, 0, 0], Some(&[1.0, 1.0, 0.5, 1.0])),
            (&[0, 2, 4, 6], &[1, 2, 0, 2, 0, 1], Some(&[1.0, 1.0, 1.0, 0.0, 1.0, 0.0])),
        ];
        for (offsets, neighbours, weights) in cases {
            let (graph, _) = rows(offsets, neighbours, weights, false).unwrap();
            assert_eq!(graph.neighbours[..], [1, 2, 0, 0], "{neighbours:?}");
            assert_eq!(graph.offsets[..], [0, 2, 3, 4]);
            assert_eq!(graph.weights, None, "all weights are one");
        }
        let (graph, _) = rows(&[0, 2, 2, 2], &[1, 2], None, true).unwrap();
        assert_eq!(graph.neighbours[..], [1, 2]);
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        let told = |offsets: &[u64], neighbours: &[u32], weights: Option<&[f32]>| {
            rows(offsets, neighbours, weights, false).unwrap_err().to_string()
        };
        assert!(told(&[0, 1], &[5], None).starts_with("graph, row 0: column 5 is outside 0 to 0"));
        assert!(told(&[0, 2, 1], &[0], None).starts_with("graph: row offsets do not rise"));
        assert!(told(&[0, 1, 1], &[1], Some(&[-1.0])).contains("row 0: -1 is negative"));
        assert!(told(&[0, 1, 1], &[1], Some(&[f32::NAN])).contains("NaN is not a number"));
    }

    #[test]
    fn features_settle_by_their_density_whatever_they_were() {
        let dense: Vec<f32> = vec![0., 0., 0., 0., 0., 2., 0., 0., 0., 0.];
        let Features::Sparse(from_dense) = Features::from_dense(5, dense.into()).unwrap() else {
            panic!("a tenth is sparse")
        };
        // The same, with a repeat that adds up and one that vanishes.
        let given = Sparse {
            width: 5,
            offsets: vec![0, 2, 4].into(),
            columns: vec![3, 3, 0, 0].into(),
            values: vec![1.0, -1.0, 0.5, 1.5].into(),
        };
        let Features::Sparse(from_rows) = Features::from_rows(given).unwrap() else {
            panic!("a tenth is sparse")
        };
        for matrix in [from_dense, from_rows] {
            assert_eq!(matrix.offsets[..], [0, 0, 1]);
            assert_eq!((&matrix.columns[..], &matrix.values[..]), (&[0][..], &[2.0][..]));
        }
        let full = Sparse {
            width: 2,
            offsets: vec![0, 1, 2].into(),
            columns: vec![1, 0].into(),
            values: vec![3.0, 4.0].into(),
        };
        let Features::Dense { width: 2, values } = Features::from_rows(full).unwrap() else {
            panic!("half is dense")
        };
        assert_eq!(values[..], [0.0, 3.0, 4.0, 0.0]);
        let bad = Features::from_dense(2, vec![1.0, 2.0, 3.0, f32::NAN].into());
        assert!(bad.unwrap_err().to_string().starts_with("features, row 1: feature 1 is NaN"));
    }
}
