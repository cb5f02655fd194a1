//! Do embeddings fall into groups of their own?
//!
//! k-means: centers m and groups that make Σ |x − m_group(x)|² small. Centers start at
//! nodes drawn one after another with chance ∝ squared distance to the nearest center so
//! far (k-means++, Arthur and Vassilvitskii 2007); then groups and means are found in
//! turn (Lloyd) until no node changes its group. The best of several starts is kept,
//! the first where two are as good.
//!
//! The nearest center is the one with least |m|² − 2 x·m, by products of blocks. Columns
//! are shifted to mean 0 first, so that little cancels in it, and all rows are scaled by one power of two, so
//! that squares of rows that are very long or short have room.

use std::collections::HashSet;

use rayon::prelude::*;
use serde::Serialize;

use super::checks::{self, single};
use super::metrics;
use crate::error::{Error, Result};
use crate::graph::Labels;
use crate::math::{Matrix, View, Write, gemm_slice};
use crate::rng::{Stream, some_of};

/// Rows that are looked at together, whatever the number of threads.
const ROWS: usize = 1024;

/// How groups are found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KMeansSettings {
    /// Number of groups.
    pub groups: usize,
    /// Number of starts.
    pub starts: usize,
    /// Rounds after which a start is left as it is.
    pub rounds: usize,
    /// Of the starts.
    pub seed: u64,
}

impl KMeansSettings {
    /// Ten starts of at most 300 rounds.
    pub fn new(groups: usize, seed: u64) -> KMeansSettings {
        KMeansSettings { groups, starts: 10, rounds: 300, seed }
    }

    /// Whether they can be used on so many rows.
    pub fn validate(&self, rows: usize) -> Result<()> {
        if self.groups == 0 || self.groups > rows {
            let remedy = format!("there are {rows} rows; choose between 1 and that");
            return Err(Error::setting("groups", self.groups, remedy));
        }
        for (name, value) in [("starts", self.starts), ("rounds", self.rounds)] {
            if value == 0 {
                return Err(Error::setting(name, value, "choose at least 1"));
            }
        }
        Ok(())
    }
}

/// Groups that were found.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// Group of each row.
    pub of: Vec<u32>,
    /// Σ |x − m|².
    pub inertia: f64,
    /// Rounds that the start took which was kept.
    pub rounds: usize,
}

/// Groups rows.
pub fn k_means(rows: &Matrix<f32>, settings: &KMeansSettings) -> Result<Groups> {
    settings.validate(rows.rows)?;
    checks::embeddings(rows, rows.rows, "groups")?;
    Ok(grouped(rows.clone(), settings))
}

/// Groups rows that were checked, writing over them.
fn grouped(mut rows: Matrix<f32>, settings: &KMeansSettings) -> Groups {
    let scale = shift(&mut rows);
    let mut best: Option<Groups> = None;
    for start in 0..settings.starts {
        let mut stream = Stream::new(settings.seed, "k-means", start as u64);
        let found =
            lloyd(&rows, first_centers(&rows, settings.groups, &mut stream), settings.rounds);
        if best.as_ref().is_none_or(|best| found.inertia < best.inertia) {
            best = Some(found);
        }
    }
    let best = best.expect("settings that were checked to have a start");
    Groups { inertia: best.inertia / scale / scale, ..best }
}

/// Columns less their means, times a power of two, which is given: the largest number is between 1 and 2
/// then.
fn shift(rows: &mut Matrix<f32>) -> f64 {
    let mut means = vec![0.0; rows.width];
    for row in rows.values.chunks_exact(rows.width) {
        means.iter_mut().zip(row).for_each(|(mean, &x)| *mean += f64::from(x));
    }
    means.iter_mut().for_each(|mean| *mean /= rows.rows as f64);
    let largest = |row: &[f32]| {
        row.iter().zip(&means).map(|(&x, mean)| (f64::from(x) - mean).abs()).fold(0.0, f64::max)
    };
    let largest = rows.values.chunks_exact(rows.width).map(largest).fold(0.0, f64::max);
    let scale = if largest > 0.0 { 2f64.powi(-(largest.log2().floor() as i32)) } else { 1.0 };
    for row in rows.values.chunks_exact_mut(rows.width) {
        row.iter_mut()
            .zip(&means)
            .for_each(|(x, mean)| *x = ((f64::from(*x) - mean) * scale) as f32);
    }
    scale
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a - b).powi(2)).sum()
}

fn first_centers(rows: &Matrix<f32>, groups: usize, stream: &mut Stream) -> Matrix<f32> {
    let mut centers = Matrix::zeros(groups, rows.width);
    let mut far = vec![f64::INFINITY; rows.rows];
    let mut chosen = stream.below(rows.rows as u64) as usize;
    for group in 0..groups {
        centers.row_mut(group).copy_from_slice(rows.row(chosen));
        let center = rows.row(chosen);
        far.par_iter_mut()
            .zip(rows.values.par_chunks_exact(rows.width))
            .with_min_len(ROWS)
            .for_each(|(far, row)| *far = far.min(distance(row, center)));
        let all: f64 = far.iter().sum();
        let mut left = stream.unit() * all;
        // Rows at distance 0 are centers already; all are where there are fewer
        // different rows than groups.
        let pass = |&far: &f64| {
            left -= far;
            far > 0.0 && left < 0.0
        };
        let last = far.iter().rposition(|&far| far > 0.0).unwrap_or(0);
        chosen = far.iter().position(pass).unwrap_or(last);
    }
    centers
}

fn lloyd(rows: &Matrix<f32>, mut centers: Matrix<f32>, limit: usize) -> Groups {
    let mut of = vec![u32::MAX; rows.rows];
    let mut rounds = 0;
    while rounds < limit {
        rounds += 1;
        let new = assign(rows, &centers);
        if new == of {
            break;
        }
        of = new;
        move_centers(rows, &of, &mut centers);
    }
    let distances = of.iter().enumerate();
    let inertia = distances.map(|(row, &g)| distance(rows.row(row), centers.row(g as usize))).sum();
    Groups { of, inertia, rounds }
}

/// The nearest center of each row, the first of equals.
fn assign(rows: &Matrix<f32>, centers: &Matrix<f32>) -> Vec<u32> {
    let (groups, width) = (centers.rows, centers.width);
    let squares: Vec<f32> =
        (0..groups).map(|g| distance(centers.row(g), &vec![0.0; width]) as f32).collect();
    let of_block = |block: &[f32]| {
        let count = block.len() / width;
        let mut products = vec![0.0; count * groups];
        let columns = centers.view().transposed();
        gemm_slice(&mut products, groups, View::of(block, count, width), columns, Write::Set);
        let nearest = |products: &[f32]| {
            let far = |g: usize| squares[g] - 2.0 * products[g];
            let mut best = 0;
            (1..groups).for_each(|g| best = if far(g) < far(best) { g } else { best });
            best as u32
        };
        products.chunks_exact(groups).map(nearest).collect::<Vec<u32>>()
    };
    rows.values.par_chunks(ROWS * width).flat_map_iter(of_block).collect()
}

/// Centers move to the means of their groups. One that lost all its rows goes to the row
/// that is farthest from its own center and not yet taken so.
fn move_centers(rows: &Matrix<f32>, of: &[u32], centers: &mut Matrix<f32>) {
    let (groups, width) = (centers.rows, centers.width);
    let mut sums = vec![0.0; groups * width];
    let mut counts = vec![0usize; groups];
    for (row, &group) in rows.values.chunks_exact(width).zip(of) {
        counts[group as usize] += 1;
        let sum = &mut sums[group as usize * width..][..width];
        sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    let empty: Vec<usize> = (0..groups).filter(|&g| counts[g] == 0).collect();
    let mut farthest: Vec<(f64, usize)> = Vec::new();
    if !empty.is_empty() {
        let far = |row: usize| distance(rows.row(row), centers.row(of[row] as usize));
        farthest = (0..rows.rows).map(|row| (far(row), row)).collect();
        farthest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }
    for (group, center) in centers.values.chunks_exact_mut(width).enumerate() {
        let share = 1.0 / counts[group].max(1) as f64;
        let sum = &sums[group * width..][..width];
        center.iter_mut().zip(sum).for_each(|(m, sum)| *m = (sum * share) as f32);
    }
    for (&group, &(_, row)) in empty.iter().zip(&farthest) {
        centers.row_mut(group).copy_from_slice(rows.row(row));
    }
}

/// How groups of embeddings agree with classes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GroupReport {
    /// Nodes that were grouped.
    pub nodes: usize,
    /// Number of groups: that of the classes.
    pub groups: usize,
    /// Σ |x − m|².
    pub inertia: f64,
    /// [`metrics::mutual_information`] of groups and classes.
    pub nmi: f64,
    /// [`metrics::adjusted_rand`] of groups and classes.
    pub ari: f64,
}

/// Nodes that are grouped at most, and more groups than which are not looked for: ten starts take
/// minutes.
const GROUPED: usize = 1 << 15;
const GROUPS: usize = 1 << 10;

/// Groups the labelled nodes, some of them where there are very many, into as many groups as there
/// are classes among those; none where they are over a thousand. Embeddings are written over: a
/// copy would be the largest thing in memory.
pub fn group_probe(
    mut embeddings: Matrix<f32>,
    labels: &Labels,
    seed: u64,
) -> Result<Option<GroupReport>> {
    let classes = single(labels, "a comparison with groups")?;
    checks::embeddings(&embeddings, labels.nodes(), "labels")?;
    let labelled: Vec<usize> = (0..classes.len()).filter(|&node| classes[node] >= 0).collect();
    let nodes = some_of(&labelled, GROUPED);
    let truth: Vec<u32> = nodes.iter().map(|&node| classes[node] as u32).collect();
    let groups = truth.iter().collect::<HashSet<_>>().len();
    if groups < 2 {
        let problem = format!("nodes of {groups} classes");
        return Err(checks::refuse("labels", problem, "label nodes of at least two classes"));
    }
    if groups > GROUPS {
        return Ok(None);
    }
    // Nodes rise, so that a row moves to one that was moved before it.
    let width = embeddings.width;
    for (row, &node) in nodes.iter().enumerate() {
        embeddings.values.copy_within(node * width..(node + 1) * width, row * width);
    }
    embeddings.values.truncate(nodes.len() * width);
    embeddings.rows = nodes.len();
    let found = grouped(embeddings, &KMeansSettings::new(groups, seed));
    Ok(Some(GroupReport {
        nodes: nodes.len(),
        groups,
        inertia: found.inertia,
        nmi: metrics::mutual_information(&truth, &found.of),
        ari: metrics::adjusted_rand(&truth, &found.of),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs(count: usize, spread: f64) -> Matrix<f32> {
        let mut stream = Stream::new(4, "blobs", 0);
        let value = |at: usize| 100.0 + 10.0 * (((at / 3 % 4) >> (at % 3)) & 1) as f64;
        let x = (0..count * 3).map(|at| (value(at) + spread * stream.normal()) as f32).collect();
        Matrix::of(count, 3, x)
    }

    #[test]
    fn groups_that_stand_apart_are_found() {
        let found = k_means(&blobs(4000, 0.5), &KMeansSettings::new(4, 1)).unwrap();
        let truth: Vec<u32> = (0..4000).map(|row| row % 4).collect();
        assert_eq!(metrics::adjusted_rand(&truth, &found.of), 1.0);
        // Three columns of variance ¼ a row.
        assert!((found.inertia / 3000.0 - 1.0).abs() < 0.05, "{}", found.inertia);
    }

    #[test]
    fn the_unit_of_rows_does_not_matter() {
        let usual = k_means(&blobs(300, 6.0), &KMeansSettings::new(4, 1)).unwrap();
        for power in [-110, -70, 70, 110] {
            let mut x = blobs(300, 6.0);
            x.values.iter_mut().for_each(|x| *x *= 2f32.powi(power));
            let found = k_means(&x, &KMeansSettings::new(4, 1)).unwrap();
            assert_eq!(found.of, usual.of, "{power}");
            assert!((found.inertia / 4f64.powi(power) / usual.inertia - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn four_points_by_hand() {
        let x = Matrix::of(4, 1, vec![0.0, 2.0, 10.0, 14.0]);
        let found = k_means(&x, &KMeansSettings::new(2, 3)).unwrap();
        assert_eq!((found.of[0], found.of[2]), (found.of[1], found.of[3]));
        assert_ne!(found.of[0], found.of[2]);
        assert!((found.inertia - (1.0 + 1.0 + 4.0 + 4.0)).abs() < 1e-5, "{}", found.inertia);
    }

    #[test]
    fn as_many_groups_as_rows_or_fewer_different_rows_than_groups() {
        let x = Matrix::of(3, 1, vec![1.0, 5.0, 9.0]);
        assert!(k_means(&x, &KMeansSettings::new(3, 1)).unwrap().inertia < 1e-9);
        let same = Matrix::of(5, 2, vec![2.0; 10]);
        assert!(k_means(&same, &KMeansSettings::new(3, 1)).unwrap().inertia < 1e-9);
    }

    #[test]
    fn an_empty_group_takes_the_row_farthest_from_its_center() {
        let rows = Matrix::of(3, 1, vec![0.0, 1.0, 9.0]);
        let mut centers = Matrix::of(2, 1, vec![0.0, 50.0]);
        move_centers(&rows, &[0, 0, 0], &mut centers);
        assert_eq!(centers.values, [10.0 / 3.0, 9.0]);
    }

    #[test]
    fn the_same_seed_gives_the_same_groups_with_any_number_of_threads() {
        let x = blobs(3000, 6.0);
        let found = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| k_means(&x, &KMeansSettings::new(5, 8)).unwrap())
        });
        assert_eq!(found[0], found[1]);
    }

    #[test]
    fn settings_outside_their_range_are_refused() {
        let x = Matrix::of(3, 1, vec![1.0, 5.0, 9.0]);
        let error = k_means(&x, &KMeansSettings::new(4, 1)).unwrap_err().to_string();
        assert_eq!(error, "groups = 4: there are 3 rows; choose between 1 and that");
        assert!(k_means(&x, &KMeansSettings { starts: 0, ..KMeansSettings::new(2, 1) }).is_err());
        let one = Labels::from_integers(&[Some(1), Some(1), None]);
        let error = group_probe(x, &one, 1).unwrap_err().to_string();
        assert_eq!(error, "labels: nodes of 1 classes; label nodes of at least two classes");
    }
}
