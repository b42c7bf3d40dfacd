//! Lines with bands as SVG. Lines differ in colour, dashes and markers, so that no colour is needed to tell them apart.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::number::{Number, Row};

/// What is drawn.
pub struct Plot<'a> {
    pub x: Axis<'a>,
    pub y: Axis<'a>,
    pub lines: Vec<PlotLine>,
    /// A level that a thin grey line marks, and what it is called.
    pub level: Option<(f64, &'a str)>,
}

/// An axis.
pub struct Axis<'a> {
    pub name: &'a str,
    /// Ends of what is shown.
    pub range: [f64; 2],
    /// Most labels.
    pub labels: usize,
    pub label: &'a dyn Fn(f64) -> String,
}

/// A line with its band.
pub struct PlotLine {
    pub name: String,
    /// Place in the list of styles.
    pub style: usize,
    pub points: Vec<PlotPoint>,
}

impl PlotLine {
    /// Shares in percent along the length, with their intervals as bands.
    pub fn of_rows(rows: &[Row]) -> Vec<Self> {
        let point = |(&s, Number { value, ci95, .. }): (&usize, &Number)| {
            let [low, high] = ci95.unwrap_or([*value; 2]).map(|share| 100.0 * share);
            PlotPoint { x: (s as f64).log2(), y: 100.0 * value, low, high }
        };
        let line = |(style, row): (usize, &Row)| {
            let points = row.numbers.iter().map(point).collect();
            Self { name: row.system.clone(), style, points }
        };
        rows.iter().enumerate().map(line).collect()
    }
}

/// A point of a line and the ends of the band there.
pub struct PlotPoint {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

const SIZE: (u32, u32) = (860, 460);
const LEGEND: u32 = 230;
const TEXT: i32 = 14;
/// Lines of more points have no markers: they would cover the line.
const MARKED: usize = 12;

/// How a line looks.
struct LineStyle {
    colour: RGBColor,
    /// Dash and gap in pixels; `None`: solid.
    dashes: Option<(i32, i32)>,
    marker: Marker,
}

#[derive(Clone, Copy)]
enum Marker {
    Disc,
    Ring,
    Triangle,
    Cross,
}

/// Colours of Okabe and Ito (2008), Color universal design, which readers with any
/// colour vision tell apart, and black and grey.
const STYLES: [LineStyle; 9] = [
    style((0, 114, 178), None, Marker::Disc),
    style((86, 180, 233), None, Marker::Triangle),
    style((0, 114, 178), Some((7, 5)), Marker::Ring),
    style((86, 180, 233), Some((7, 5)), Marker::Cross),
    style((213, 94, 0), None, Marker::Disc),
    style((213, 94, 0), Some((7, 5)), Marker::Ring),
    style((0, 158, 115), Some((3, 4)), Marker::Triangle),
    style((204, 121, 167), Some((3, 4)), Marker::Cross),
    style((90, 90, 90), Some((3, 4)), Marker::Ring),
];

const fn style(colour: (u8, u8, u8), dashes: Option<(i32, i32)>, marker: Marker) -> LineStyle {
    LineStyle { colour: RGBColor(colour.0, colour.1, colour.2), dashes, marker }
}

/// Along lengths of 1× to `longest`, whose logarithms the points have.
pub fn by_length<'a>(longest: usize, y: Axis<'a>, lines: Vec<PlotLine>) -> Plot<'a> {
    let longest = longest.max(2) as f64;
    let x = Axis {
        name: "length, multiples of the training context",
        range: [-0.1, longest.log2() + 0.1],
        labels: longest.log2() as usize + 1,
        label: &|x| format!("{}×", x.exp2().round()),
    };
    Plot { x, y, lines, level: None }
}

/// A line without a band.
pub type Curve = (String, Vec<(f64, f64)>);

/// Lines without bands along any axes; an axis that is logarithmic is labelled with what its logarithms are of, another one begins
/// at 0, so that small differences look small.
pub fn curves<'a>(x: &'a str, y: &'a str, is_log: [bool; 2], curves: impl IntoIterator<Item = Curve>) -> Plot<'a> {
    let scaled = |value: f64, is_log: bool| if is_log { value.max(f64::MIN_POSITIVE).log2() } else { value };
    let point = |(x, y): (f64, f64)| {
        let (x, y) = (scaled(x, is_log[0]), scaled(y, is_log[1]));
        PlotPoint { x, y, low: y, high: y }
    };
    let line = |(style, (name, points)): (usize, Curve)| {
        let points = points.into_iter().map(point).filter(|point| point.x.is_finite() && point.y.is_finite());
        PlotLine { name, style, points: points.collect() }
    };
    let lines: Vec<PlotLine> = curves.into_iter().enumerate().map(line).collect();
    let values = |of: fn(&PlotPoint) -> f64| lines.iter().flat_map(|line| &line.points).map(of).collect::<Vec<f64>>();
    let (x, y) = (axis(x, is_log[0], values(|point| point.x)), axis(y, is_log[1], values(|point| point.y)));
    Plot { x, y, lines, level: None }
}

/// Perplexities along the length.
pub fn perplexities(rows: &[Row]) -> Plot<'static> {
    let point = |(&s, number): (&usize, &Number)| (s as f64, number.value);
    let curve = |row: &Row| (row.system.clone(), row.numbers.iter().map(point).collect());
    curves("s, multiples of the training context", "perplexity", [true, true], rows.iter().map(curve))
}

fn axis(name: &str, is_log: bool, mut values: Vec<f64>) -> Axis<'_> {
    values.extend((!is_log).then_some(0.0));
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    let range = if low < high { [low, high + 0.04 * (high - low)] } else { [0.0, 1.0] };
    let label: &dyn Fn(f64) -> String = if is_log { &|value| number(value.exp2()) } else { &number };
    Axis { name, range, labels: 10, label }
}

/// A number in as few digits as it needs.
fn number(value: f64) -> String {
    if value == 0.0 || (0.001..10_000.0).contains(&value.abs()) {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:.1e}")
    }
}

/// Exact answers, in percent.
pub const EXACT_ANSWERS: Axis =
    Axis { name: "exact answers, %", range: [0.0, 102.0], labels: 11, label: &|y| format!("{y:.0}") };

/// Draws it.
pub fn plot(plot: &Plot) -> Result<String> {
    let mut svg = String::new();
    draw(&mut svg, plot).map_err(|error| anyhow!("cannot draw: {error}"))?;
    Ok(svg)
}

type Drawn<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;
type Area<'a, C> = DrawingArea<SVGBackend<'a>, C>;

fn draw(svg: &mut String, plot: &Plot) -> Drawn {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(SIZE.0 - LEGEND);
    let [[first, last], [lowest, highest]] = [plot.x.range, plot.y.range];
    let mut chart = ChartBuilder::on(&left)
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(58)
        .build_cartesian_2d(first..last, lowest..highest)?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(plot.x.labels.max(2))
        .y_labels(plot.y.labels.max(2))
        .label_style(("sans-serif", TEXT))
        .x_desc(plot.x.name)
        .y_desc(plot.y.name)
        .x_label_formatter(&|x| (plot.x.label)(*x))
        .y_label_formatter(&|y| (plot.y.label)(*y))
        .draw()?;
    let area = chart.plotting_area();
    for line in &plot.lines {
        let low = line.points.iter().map(|point| (point.x, point.low));
        let high = line.points.iter().rev().map(|point| (point.x, point.high));
        area.draw(&Polygon::new(
            low.chain(high).collect::<Vec<_>>(),
            STYLES[line.style % STYLES.len()].colour.mix(0.1),
        ))?;
    }
    for line in &plot.lines {
        let style = &STYLES[line.style % STYLES.len()];
        let points: Vec<(f64, f64)> = line.points.iter().map(|point| (point.x, point.y)).collect();
        stroke(area, &points, style)?;
        if points.len() <= MARKED {
            points.iter().try_for_each(|&point| mark(area, point, style))?;
        }
    }
    if let Some((level, _)) = plot.level {
        area.draw(&PathElement::new([(first, level), (last, level)], BLACK.mix(0.4)))?;
    }
    draw_legend(&right, plot)?;
    root.present()?;
    Ok(())
}

/// A line for each line of the plot, in their order, and one for the level.
fn draw_legend(area: &Area<Shift>, plot: &Plot) -> Drawn {
    let font = ("sans-serif", TEXT).into_font();
    let middle = |row: usize| 40 + 26 * row as i32;
    for (row, line) in plot.lines.iter().enumerate() {
        let (y, style) = (middle(row), &STYLES[line.style % STYLES.len()]);
        stroke(area, &[(0, y), (34, y)], style)?;
        mark(area, (17, y), style)?;
        area.draw(&Text::new(line.name.clone(), (42, y - 6), font.clone()))?;
    }
    if let Some((_, name)) = plot.level {
        let y = middle(plot.lines.len());
        area.draw(&PathElement::new([(0, y), (34, y)], BLACK.mix(0.4)))?;
        area.draw(&Text::new(name.to_owned(), (42, y - 6), font))?;
    }
    Ok(())
}

fn stroke<C: CoordTranslate>(area: &Area<C>, points: &[C::From], style: &LineStyle) -> Drawn
where
    C::From: Clone + 'static,
{
    let pen = style.colour.stroke_width(2);
    match style.dashes {
        None => area.draw(&PathElement::new(points.to_vec(), pen))?,
        Some((dash, gap)) => area.draw(&DashedPathElement::new(points.to_vec(), dash, gap, pen))?,
    }
    Ok(())
}

fn mark<C: CoordTranslate>(area: &Area<C>, point: C::From, style: &LineStyle) -> Drawn
where
    C::From: Clone + 'static,
{
    let (filled, pen) = (style.colour.filled(), style.colour.stroke_width(2));
    match style.marker {
        Marker::Disc => area.draw(&Circle::new(point, 4, filled))?,
        Marker::Ring => {
            area.draw(&Circle::new(point.clone(), 4, WHITE.filled()))?;
            area.draw(&Circle::new(point, 4, pen))?;
        }
        Marker::Triangle => area.draw(&TriangleMarker::new(point, 6, filled))?,
        Marker::Cross => area.draw(&Cross::new(point, 4, pen))?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{EXACT_ANSWERS, PlotLine, PlotPoint, STYLES, by_length, curves, plot};

    #[test]
    fn every_line_has_its_name_and_its_band() {
        let point = |x| PlotPoint { x, y: 50.0, low: 40.0, high: 60.0 };
        let line = |style| PlotLine { name: format!("line {style}"), style, points: vec![point(0.0), point(1.0)] };
        let mut drawn = by_length(2, EXACT_ANSWERS, (0..STYLES.len()).map(line).collect());
        drawn.level = Some((25.0, "a random guess"));
        let svg = plot(&drawn).unwrap();
        assert_eq!(svg, plot(&drawn).unwrap());
        assert!(svg.matches("<polygon").count() >= STYLES.len(), "{svg}");
        assert!(drawn.lines.iter().all(|line| svg.contains(&line.name)) && svg.contains("a random guess"), "{svg}");
        assert!(plot(&by_length(1, EXACT_ANSWERS, Vec::new())).unwrap().starts_with("<svg"));
    }

    #[test]
    fn curves_of_no_point_and_of_one_are_drawn() {
        for points in [vec![], vec![(1.0, 2.0)], vec![(1.0, f64::NAN)]] {
            let svg = plot(&curves("x", "y", [false, true], [("a".to_owned(), points)])).unwrap();
            assert!(svg.starts_with("<svg"), "{svg}");
        }
    }
}
