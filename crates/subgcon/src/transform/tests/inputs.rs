//! Laws of what the encoder gets, for any settings.

use proptest::prelude::*;

use super::*;

fn any_settings() -> impl Strategy<Value = FeatureSettings> {
    let rows = prop_oneof![
        Just(RowScale::None),
        Just(RowScale::Sum),
        (0.1..5.0f64).prop_map(RowScale::Norm)
    ];
    let standardize =
        prop_oneof![Just(Standardize::No), Just(Standardize::All), Just(Standardize::Auto)];
    let projection = (1usize..40, any::<bool>(), prop::option::of(0.5..4.0f64)).prop_map(
        |(width, center, norm)| ProjectionSettings { width, center, norm, ..Default::default() },
    );
    (standardize, rows, prop::option::of(projection)).prop_map(|(standardize, rows, projection)| {
        FeatureSettings { structural: false, standardize, rows, projection }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn inputs_are_what_the_definitions_say(
        settings in any_settings(), sparse: bool, nodes in 3usize..50, width in 1usize..30,
        measures in 0usize..4, share in 0.0..1.0f64, seed: u64,
    ) {
        let x = units::table(nodes, width, measures, seed);
        prop_assume!(x.amax() > 0.0);
        let features = features(&x, sparse);
        let (adjacency, _) = graph(nodes, false, seed);
        let fitted = Transform::fit(&settings, &features, &adjacency, seed, &Silent);
        // A single column that standardisation makes zero, or the like.
        prop_assume!(fitted.is_ok());
        let transform = fitted.unwrap();
        let mut stream = Stream::new(seed, "units", 0);
        let units: Vec<u32> = (0..80).map(|_| stream.below(nodes as u64) as u32).collect();
        let masks: Vec<Option<Mask>> =
            units.iter().map(|_| Some(Mask { share, key: stream.bits() })).collect();

        let x_hat = scaled(&x, sparse, &settings);
        let hidden = Dense::from_fn(units.len(), width, |unit, column| {
            let mask = masks[unit].unwrap();
            let hides = mask.hides(units[unit], column as u32);
            if hides { 0.0 } else { x_hat[(units[unit] as usize, column)] }
        });
        let mut wanted = hidden;
        if let Some(projection) = &settings.projection {
            let v = wide(transform.vectors.as_ref().unwrap());
            let mean = (&x_hat * &v).row_mean();
            wanted *= v;
            for mut row in wanted.row_iter_mut() {
                if projection.center {
                    row -= &mean;
                }
                // Directions of rows that are all but zero are rounding: looked at below.
                if let Some(norm) = projection.norm && row.norm() > 1e-2 {
                    row *= norm / row.norm();
                }
            }
        }
        let found = transform.inputs(&features, &units, &masks);
        // Those of few measures stay so.
        let few = transform
            .measures
            .as_ref()
            .is_none_or(|measures| 4 * measures.columns.len() <= width);
        let stay = sparse && few && settings.projection.is_none();
        prop_assert_eq!(matches!(found, Inputs::Sparse(_)), stay);
        let found = match found {
            Inputs::Dense(matrix) => wide(&matrix),
            Inputs::Sparse(entries) => {
                let mut matrix = Dense::zeros(units.len(), entries.width);
                for unit in 0..units.len() {
                    let (columns, values) = entries.unit(unit);
                    prop_assert!(columns.is_sorted());
                    for (&column, &x) in columns.iter().zip(values) {
                        matrix[(unit, column as usize)] = f64::from(x);
                    }
                }
                matrix
            }
        };
        for (found, wanted) in found.row_iter().zip(wanted.row_iter()) {
            if wanted.norm() > 1e-2 || settings.projection.is_none() {
                prop_assert!((found - wanted).amax() < 1e-3 * (1.0 + wanted.amax()));
            }
        }
        // Without masks, in full.
        let plain = transform.inputs(&features, &units, &vec![None; units.len()]);
        let full = transform.apply_dense(&features, &units);
        match plain {
            Inputs::Dense(matrix) => prop_assert_eq!(matrix, full),
            Inputs::Sparse(_) => {
                let wanted = Dense::from_fn(units.len(), width, |unit, column| {
                    x_hat[(units[unit] as usize, column)]
                });
                assert_close(&wide(&full), &wanted, 1e-4 * (1.0 + wanted.amax()));
            }
        }
    }

    #[test]
    fn a_node_gets_the_same_bytes_in_any_company(
        settings in any_settings(), sparse: bool, count in 1usize..120, cut in 0usize..120,
        seed: u64,
    ) {
        let x = units::table(30, 12, (seed % 6) as usize, seed);
        let features = features(&x, sparse);
        let (adjacency, _) = graph(30, false, seed);
        let fitted = Transform::fit(&settings, &features, &adjacency, seed, &Silent);
        let transform = fitted.unwrap();
        let mut stream = Stream::new(seed, "units", 0);
        let units: Vec<u32> = (0..count).map(|_| stream.below(30) as u32).collect();
        let masks: Vec<Option<Mask>> = (0..count)
            .map(|_| (stream.unit() < 0.5).then(|| Mask { share: 0.5, key: stream.bits() }))
            .collect();
        let bits = |units: &[u32], masks: &[Option<Mask>]| -> Vec<Vec<(u32, u32)>> {
            match transform.inputs(&features, units, masks) {
                Inputs::Dense(matrix) => {
                    let row = |row: &[f32]| row.iter().map(|x| (0, x.to_bits())).collect();
                    matrix.values.chunks_exact(matrix.width).map(row).collect()
                }
                Inputs::Sparse(entries) => (0..units.len())
                    .map(|unit| {
                        let (columns, values) = entries.unit(unit);
                        columns.iter().zip(values).map(|(&c, x)| (c, x.to_bits())).collect()
                    })
                    .collect(),
            }
        };
        let cut = cut.min(count);
        let mut parts = bits(&units[..cut], &masks[..cut]);
        parts.extend(bits(&units[cut..], &masks[cut..]));
        prop_assert_eq!(bits(&units, &masks), parts);
    }
}
