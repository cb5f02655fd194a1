//! Fig. 3: do few contexts suffice for training?

use super::Lab;
use super::page::{Page, Table, figure};
use crate::picture::{Series, lines_svg};

/// Numbers of contexts; then all there are.
const COUNTS: [usize; 7] = [10, 20, 50, 100, 200, 500, 1000];

pub(super) fn page(lab: &Lab<'_>) -> anyhow::Result<Page> {
    let base = lab.base()?;
    let mut table = Table::new(&["graph", "contexts", "accuracy", "validation"]);
    let mut series = Vec::new();
    for dataset in &lab.datasets {
        let nodes = dataset.store.adjacency()?.nodes();
        let mut points = Vec::new();
        let counts = COUNTS.iter().copied().filter(|&count| count < nodes).chain([nodes]);
        for count in counts {
            let mut settings = base.clone();
            settings.training.subgraphs = (count < nodes).then_some(count);
            settings.training.batch = settings.training.batch.min(count);
            let row = lab.measure(dataset, &settings)?;
            points.push((count as f64, 100.0 * row.accuracy_mean));
            table.rows.push(vec![
                dataset.shown.into(),
                if count == nodes { format!("all ({nodes})") } else { count.to_string() },
                figure(&row),
                format!("{:.1}", 100.0 * row.validation_mean),
            ]);
        }
        series.push(Series { name: dataset.shown.into(), points });
    }
    Ok(Page {
        title: "Fig. 3: training on few contexts".into(),
        how: "Accuracy on the test nodes in percent by the number of random contexts that the encoder is \
              trained on; the step and C are chosen on validation nodes."
            .into(),
        seeds: lab.arguments.seeds,
        picture: Some(lines_svg(
            "Accuracy by the number of contexts",
            "contexts (logarithmic)",
            "%",
            true,
            &series,
        )),
        tables: vec![table],
        note: "The paper prints a figure without numbers and says: about 500 suffice on Cora, Citeseer and \
               Pubmed, 50 on PPI."
            .into(),
        settings: vec![("but for the contexts".into(), base)],
    })
}
