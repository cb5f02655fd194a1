//! Small pictures as SVG, written by hand: a bar needs no library.

use std::fmt::Write;

/// From near to far, readable in grey as well.
const COLOURS: [&str; 9] = [
    "#08306b", "#2171b5", "#4292c6", "#6baed6", "#9ecae1", "#c6dbef", "#deebf7", "#f0f0f0",
    "#d9d9d9",
];

/// The composition of contexts by distance: one bar of the whole, a legend below.
pub(crate) fn composition_svg(name: &str, hops: &[f64], further: f64) -> String {
    let mut parts: Vec<(String, f64)> = hops
        .iter()
        .enumerate()
        .map(|(place, &share)| {
            let label = if place == 0 { "1 hop".into() } else { format!("{} hops", place + 1) };
            (label, share)
        })
        .collect();
    if further > 0.0 {
        parts.push(("further".into(), further));
    }
    const WIDTH: f64 = 640.0;
    let height = 110 + 20 * parts.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 {height}\" width=\"700\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"30\" y=\"30\" font-size=\"16\">Context members by distance from their centre: \
         {}</text>\n",
        escaped(name)
    );
    let mut left = 30.0;
    for (place, (label, share)) in parts.iter().enumerate() {
        let colour = COLOURS[place.min(COLOURS.len() - 1)];
        let width = share * WIDTH;
        let y = 110 + 20 * place;
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.2}\" y=\"45\" width=\"{width:.2}\" height=\"36\" fill=\"{colour}\" \
             stroke=\"white\"/>\n\
             <rect x=\"30\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\" stroke=\"#888\"/>\n\
             <text x=\"50\" y=\"{y}\">{label}: {:.1} %</text>",
            y - 11,
            share * 100.0
        );
        left += width;
    }
    svg + "</svg>\n"
}

/// Colours of lines, apart in hue and in brightness.
const LINES: [&str; 6] = ["#08519c", "#d94801", "#238b45", "#6a51a3", "#969696", "#000000"];

/// A line through its points, which rise along x.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Lines over a common x, which may be drawn by its logarithm; a legend on the right.
pub(crate) fn lines_svg(
    title: &str,
    x_label: &str,
    y_label: &str,
    logarithmic: bool,
    series: &[Series],
) -> String {
    const LEFT: f64 = 70.0;
    const RIGHT: f64 = 540.0;
    const TOP: f64 = 50.0;
    const BOTTOM: f64 = 330.0;
    let along = |x: f64| if logarithmic { x.max(f64::MIN_POSITIVE).ln() } else { x };
    let points = || series.iter().flat_map(|series| &series.points);
    let (x_low, x_high) = range(points().map(|point| along(point.0)));
    let (y_low, y_high) = range(points().map(|point| point.1));
    // Room above and below, so that no line runs along the frame.
    let room = 0.08 * (y_high - y_low);
    let (y_low, y_high) = (y_low - room, y_high + room);
    let x_at = |x: f64| LEFT + (along(x) - x_low) / (x_high - x_low) * (RIGHT - LEFT);
    let y_at = |y: f64| BOTTOM - (y - y_low) / (y_high - y_low) * (BOTTOM - TOP);
    let mut svg = start(title, 700, 390);
    let _ = writeln!(
        svg,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n\
         <text x=\"{:.0}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
         <text x=\"{LEFT}\" y=\"{}\">{}</text>",
        RIGHT - LEFT,
        BOTTOM - TOP,
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 45.0,
        escaped(x_label),
        TOP - 6.0,
        escaped(y_label)
    );
    let (steps, decimals) = round_steps(y_low, y_high);
    for y in steps {
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{0:.1}\" y2=\"{0:.1}\" stroke=\"#ddd\"/>\n\
             <text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{y:.decimals$}</text>",
            y_at(y),
            LEFT - 6.0,
            y_at(y) + 4.0
        );
    }
    let mut marks: Vec<f64> = match logarithmic {
        true => round_powers(x_low.exp(), x_high.exp()),
        false => points().map(|point| point.0).collect(),
    };
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    let mut last = f64::NEG_INFINITY;
    for x in marks {
        // Numbers that would touch are left out.
        if x_at(x) - last >= 28.0 {
            last = x_at(x);
            let _ = writeln!(
                svg,
                "<text x=\"{last:.1}\" y=\"{}\" text-anchor=\"middle\">{x}</text>",
                BOTTOM + 20.0
            );
        }
    }
    for (at, Series { name, points }) in series.iter().enumerate() {
        let colour = LINES[at % LINES.len()];
        let places: Vec<String> =
            points.iter().map(|&(x, y)| format!("{:.1},{:.1}", x_at(x), y_at(y))).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            places.join(" ")
        );
        for &(x, y) in points {
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{}: {x}, {y:.2}\
                 </title></circle>",
                x_at(x),
                y_at(y),
                escaped(name)
            );
        }
        let y = TOP + 16.0 + 22.0 * at as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"556\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{colour}\"/>\n\
             <text x=\"576\" y=\"{y}\">{}</text>",
            y - 6.0,
            escaped(name)
        );
    }
    svg + "</svg>\n"
}

/// One bar a thing, cut into shares of the whole; a legend below.
pub(crate) fn stacks_svg(title: &str, parts: &[&str], stacks: &[(String, Vec<f64>)]) -> String {
    let height = 90 + 34 * stacks.len();
    let mut svg = start(title, 700, height);
    for (at, (name, shares)) in stacks.iter().enumerate() {
        let y = 50 + 34 * at;
        let _ = writeln!(svg, "<text x=\"30\" y=\"{}\">{}</text>", y + 17, escaped(name));
        let mut left = 110.0;
        for (place, share) in shares.iter().enumerate() {
            let width = 560.0 * share;
            let _ = writeln!(
                svg,
                "<rect x=\"{left:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"24\" fill=\"{}\" \
                 stroke=\"white\"><title>{}: {:.1} %</title></rect>",
                COLOURS[place.min(COLOURS.len() - 1)],
                escaped(parts.get(place).copied().unwrap_or_default()),
                100.0 * share
            );
            left += width;
        }
    }
    let y = 50 + 34 * stacks.len() + 12;
    for (place, part) in parts.iter().enumerate() {
        let x = 110 + 110 * place;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{}\" stroke=\"#888\"/>\n\
             <text x=\"{}\" y=\"{}\">{}</text>",
            COLOURS[place.min(COLOURS.len() - 1)],
            x + 18,
            y + 11,
            escaped(part)
        );
    }
    svg + "</svg>\n"
}

fn start(title: &str, width: usize, height: usize) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"30\" y=\"28\" font-size=\"16\">{}</text>\n",
        escaped(title)
    )
}

/// The smallest and the largest; a little apart where they are the same.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let both = |(low, high): (f64, f64), x: f64| (low.min(x), high.max(x));
    match values.fold((f64::INFINITY, f64::NEG_INFINITY), both) {
        (low, high) if low < high => (low, high),
        (low, _) if low.is_finite() => (low - 0.5, low + 0.5),
        _ => (0.0, 1.0),
    }
}

/// Round numbers between two others, some five of them, and the decimals that they have.
fn round_steps(low: f64, high: f64) -> (Vec<f64>, usize) {
    let rough = (high - low) / 5.0;
    let power = rough.log10().floor();
    let unit = 10f64.powf(power);
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|&factor| factor * unit >= rough);
    let step = factor.unwrap_or(10.0) * unit;
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    ((first..=last).map(|times| times as f64 * step).collect(), decimals)
}

/// 1, 2, 5, 10, 20, … between two numbers above zero.
fn round_powers(low: f64, high: f64) -> Vec<f64> {
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let marks = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|mark| mark * 10f64.powi(power)));
    // Logarithms and back are not exact.
    marks.filter(|mark| (0.999 * low..=1.001 * high).contains(mark)).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_names_every_part_and_escapes_names() {
        let svg = composition_svg("a<b", &[0.5, 0.25], 0.25);
        for part in ["a&lt;b", "1 hop: 50.0 %", "2 hops: 25.0 %", "further: 25.0 %", "</svg>"] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
    }

    #[test]
    fn lines_go_from_corner_to_corner() {
        let series = [
            Series { name: "a&b".into(), points: vec![(1.0, 0.0), (10.0, 50.0), (100.0, 100.0)] },
            Series { name: "flat".into(), points: vec![(1.0, 50.0)] },
        ];
        let svg = lines_svg("t", "x", "y", true, &series);
        // Logarithms lie evenly: 70, 305, 540; the middle of the range is the middle of 50 to 330.
        for part in ["70.0,", "305.0,190.0", "540.0,", "a&amp;b: 10, 50.00", ">flat<", "</svg>"] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        assert!(!lines_svg("t", "x", "y", false, &series[1..]).contains("NaN"));
        assert!(!lines_svg("t", "x", "y", false, &[]).contains("inf"));
    }

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!(round_steps(62.4, 85.8), (vec![65.0, 70.0, 75.0, 80.0, 85.0], 0));
        assert_eq!(round_steps(-0.1, 1.1).1, 1);
        let (steps, decimals) = round_steps(0.312, 0.349);
        let steps: Vec<String> = steps.iter().map(|step| format!("{step:.decimals$}")).collect();
        assert_eq!(steps, ["0.32", "0.33", "0.34"]);
        assert_eq!(round_powers(10.0, 300.0), [10.0, 20.0, 50.0, 100.0, 200.0]);
        assert_eq!(round_powers(0.5, 2.0), [0.5, 1.0, 2.0]);
    }

    #[test]
    fn stacks_end_where_the_next_part_starts() {
        let svg = stacks_svg("t", &["near", "far"], &[("g".into(), vec![0.25, 0.75])]);
        for part in ["x=\"110.00\" y=\"50\" width=\"140.00\"", "x=\"250.00\"", "near: 25.0 %"] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
    }
}
