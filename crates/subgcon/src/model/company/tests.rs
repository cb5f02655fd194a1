use super::*;
use crate::progress::Silent;
use crate::rng::Stream;

const SETTINGS: CompanySettings = CompanySettings { nearest: 7, share: 0.3 };

/// Directions around some centres, of length 1.
fn clustered(nodes: usize, width: usize, centres: usize, noise: f64) -> Matrix<f32> {
    let mut stream = Stream::new(8, "rows", 0);
    let centre: Vec<f64> = (0..centres * width).map(|_| stream.normal()).collect();
    let mut rows = Matrix::zeros(nodes, width);
    for node in 0..nodes {
        let at = stream.below(centres as u64) as usize * width;
        let row: Vec<f64> = (0..width).map(|k| centre[at + k] + noise * stream.normal()).collect();
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        rows.row_mut(node).iter_mut().zip(row).for_each(|(to, x)| *to = (x / length) as f32);
    }
    rows
}

fn find(rows: &Matrix<f32>) -> Company {
    Company::find(SETTINGS, rows.rows, |nodes| rows.picked(nodes), &Silent)
}

fn members(company: &Company, node: usize) -> &[u32] {
    &company.members[node * company.places..][..company.places]
}

/// Products with all other nodes, falling.
fn naive(rows: &Matrix<f32>, node: usize) -> Vec<(f64, u32)> {
    let product = |other: usize| -> f64 {
        let pairs = rows.row(node).iter().zip(rows.row(other));
        pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    let others = (0..rows.rows).filter(|&other| other != node);
    let mut all: Vec<(f64, u32)> = others.map(|other| (product(other), other as u32)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all
}

#[test]
fn of_a_small_graph_it_is_the_naive_one() {
    let rows = clustered(300, 12, 6, 0.4);
    let company = find(&rows);
    let mut mixed = rows.clone();
    company.mix(&mut mixed, &Silent);
    for node in 0..300 {
        let wanted = &naive(&rows, node)[..7];
        let members = members(&company, node);
        assert_eq!(members, wanted.iter().map(|&(_, other)| other).collect::<Vec<u32>>());
        let total: f64 = wanted.iter().map(|(product, _)| product).sum();
        for column in 0..12 {
            let of = |node: usize| f64::from(rows.row(node)[column]);
            let others: f64 =
                wanted.iter().map(|&(product, other)| product / total * of(other as usize)).sum();
            let wanted = 0.7 * of(node) + 0.3 * others;
            let found = f64::from(mixed.row(node)[column]);
            assert!((found - wanted).abs() < 1e-6, "{node} {column}: {found} {wanted}");
        }
    }
}

#[test]
fn of_a_larger_graph_it_is_nearly_the_naive_one() {
    let rows = clustered(6000, 16, 300, 0.5);
    let company = find(&rows);
    let (mut hits, mut looks) = (0, 0);
    for node in (0..6000).step_by(97) {
        let members = members(&company, node);
        assert!(!members.contains(&(node as u32)));
        let mut different = members.to_vec();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), 7);
        let wanted: Vec<u32> = naive(&rows, node)[..7].iter().map(|&(_, other)| other).collect();
        hits += members.iter().filter(|member| wanted.contains(member)).count();
        looks += 7;
    }
    assert!(hits as f64 > 0.7 * f64::from(looks), "{hits} of {looks}");
}

#[test]
fn some_columns_and_all_of_them_and_threads_give_the_same_bits() {
    let rows = clustered(1500, 100, 20, 0.5);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let company = find(&rows);
            let mut mixed = rows.clone();
            company.mix(&mut mixed, &Silent);
            (company, mixed)
        })
    };
    let (company, mixed) = run(1);
    assert!(run(3) == (company.clone(), mixed.clone()));
    let narrow = |rows: &Matrix<f32>| {
        let values = (0..1500).flat_map(|node| &rows.row(node)[10..15]).copied().collect();
        Matrix::of(1500, 5, values)
    };
    let mut some = narrow(&rows);
    company.mix(&mut some, &Silent);
    let bits = |rows: &Matrix<f32>| rows.values.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    assert_eq!(bits(&some), bits(&narrow(&mixed)));
}

#[test]
fn nodes_without_their_like_stay_as_they_are() {
    // Opposite directions, a row of zeros, and a graph too small for company.
    let mut rows = Matrix::of(40, 3, [[1.0, 0.0, 0.0]; 40].concat());
    rows.row_mut(7).copy_from_slice(&[-1.0, 0.0, 0.0]);
    rows.row_mut(11).fill(0.0);
    let mut mixed = rows.clone();
    find(&rows).mix(&mut mixed, &Silent);
    for (a, b) in mixed.values.iter().zip(&rows.values) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    assert_eq!((mixed.row(7), mixed.row(11)), (rows.row(7), rows.row(11)));
    let few = clustered(4, 3, 1, 0.1);
    let mut mixed = few.clone();
    find(&few).mix(&mut mixed, &Silent);
    assert_eq!(mixed, few);
}

#[test]
fn many_equal_rows_do_not_make_it_slow() {
    // One cell has all of them: products would be nodes squared.
    let rows = Matrix::of(30_000, 2, [[0.6f32, 0.8]; 30_000].concat());
    let company = find(&rows);
    let mut mixed = rows.clone();
    company.mix(&mut mixed, &Silent);
    assert!(mixed.values.iter().zip(&rows.values).all(|(a, b)| (a - b).abs() < 1e-6));
}
