//! Fig. 6: how large should a context be?

use super::Lab;
use super::page::{Page, Table, figure};
use crate::picture::{Series, lines_svg};

/// Nodes of a context, the centre included.
const SIZES: [usize; 10] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20];

pub(super) fn page(lab: &Lab<'_>) -> anyhow::Result<Page> {
    let base = lab.base()?;
    let mut table = Table::new(&["graph", "size", "accuracy", "validation"]);
    let mut series = Vec::new();
    for dataset in &lab.datasets {
        let mut points = Vec::new();
        for size in SIZES {
            let mut settings = base.clone();
            settings.contexts.size = size;
            let row = lab.measure(dataset, &settings)?;
            points.push((size as f64, 100.0 * row.accuracy_mean));
            table.rows.push(vec![
                dataset.shown.into(),
                size.to_string(),
                figure(&row),
                format!("{:.1}", 100.0 * row.validation_mean),
            ]);
        }
        series.push(Series { name: dataset.shown.into(), points });
    }
    Ok(Page {
        title: "Fig. 6: size of contexts".into(),
        how: "Accuracy on the test nodes in percent by the number of nodes in a context, the centre \
              included; the step and C are chosen on validation nodes."
            .into(),
        seeds: lab.arguments.seeds,
        picture: Some(lines_svg("Accuracy by size of contexts", "nodes", "%", false, &series)),
        tables: vec![table],
        note: "The paper prints a figure without numbers and says: larger is better up to 20, but 10 is best \
               on Citeseer, and 2 is worst everywhere."
            .into(),
        settings: vec![("but for the size".into(), base)],
    })
}
