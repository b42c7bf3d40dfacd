//! The figure as SVG. Lines differ in colour, dashes and markers, so that no colour is needed to tell them apart.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use super::figure::{MethodLine, StudyFigure};

const SIZE: (u32, u32) = (860, 460);
const LEGEND: u32 = 230;
const TEXT: i32 = 14;

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

/// In the order of the figure's methods. Colours of Okabe and Ito (2008), Color universal design, which readers with any
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

/// Draws the figure.
pub fn plot(figure: &StudyFigure) -> Result<String> {
    let mut svg = String::new();
    draw(&mut svg, figure).map_err(|error| anyhow!("cannot draw: {error}"))?;
    Ok(svg)
}

type Drawn<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;
type Area<'a, C> = DrawingArea<SVGBackend<'a>, C>;
type Plane = Cartesian2d<RangedCoordf64, RangedCoordf64>;

fn draw(svg: &mut String, figure: &StudyFigure) -> Drawn {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(SIZE.0 - LEGEND);
    let longest = figure.lengths.iter().copied().max().unwrap_or(1).max(2) as f64;
    let mut chart = ChartBuilder::on(&left)
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(58)
        .build_cartesian_2d(-0.1..longest.log2() + 0.1, 0.0..102.0)?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(figure.lengths.len().max(2))
        .label_style(("sans-serif", TEXT))
        .x_desc("length, multiples of the training context")
        .y_desc("exact answers, %")
        .x_label_formatter(&|x| format!("{}×", x.exp2().round()))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .draw()?;
    let area = chart.plotting_area();
    for line in &figure.methods {
        let low = line.points.iter().map(|point| at(point.extension, point.low));
        let high = line.points.iter().rev().map(|point| at(point.extension, point.high));
        area.draw(&Polygon::new(low.chain(high).collect::<Vec<_>>(), STYLES[line.style].colour.mix(0.1)))?;
    }
    for line in &figure.methods {
        draw_line(area, line)?;
    }
    let floor = [(-0.1, 100.0 * figure.floor), (longest.log2() + 0.1, 100.0 * figure.floor)];
    area.draw(&PathElement::new(floor, BLACK.mix(0.4)))?;
    draw_legend(&right, figure)?;
    root.present()?;
    Ok(())
}

/// A point of the chart.
fn at(extension: usize, share: f64) -> (f64, f64) {
    ((extension as f64).log2(), 100.0 * share)
}

fn draw_line(area: &Area<Plane>, line: &MethodLine) -> Drawn {
    let style = &STYLES[line.style];
    let points: Vec<(f64, f64)> = line.points.iter().map(|point| at(point.extension, point.mean)).collect();
    stroke(area, &points, style)?;
    points.iter().try_for_each(|&point| mark(area, point, style))
}

/// A line for each method, in the order of the figure, and one for the floor.
fn draw_legend(area: &Area<Shift>, figure: &StudyFigure) -> Drawn {
    let font = ("sans-serif", TEXT).into_font();
    let middle = |row: usize| 40 + 26 * row as i32;
    for (row, line) in figure.methods.iter().enumerate() {
        let (y, style) = (middle(row), &STYLES[line.style]);
        stroke(area, &[(0, y), (34, y)], style)?;
        mark(area, (17, y), style)?;
        area.draw(&Text::new(line.name.clone(), (42, y - 6), font.clone()))?;
    }
    let y = middle(figure.methods.len());
    area.draw(&PathElement::new([(0, y), (34, y)], BLACK.mix(0.4)))?;
    area.draw(&Text::new("a random guess", (42, y - 6), font))?;
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
    use super::super::figure::figure;
    use super::super::rows::StudyResults;
    use super::super::test_cells::study;
    use super::plot;

    #[test]
    fn every_method_has_its_name_and_its_band() {
        let drawn = figure(&study(|run, _| if run == "all" { [0.9, 0.8, 0.7, 0.6] } else { [0.9; 4] }));
        let svg = plot(&drawn).unwrap();
        assert_eq!(svg, plot(&drawn).unwrap());
        assert!(svg.matches("<polygon").count() >= drawn.methods.len(), "{svg}");
        assert!(drawn.methods.iter().all(|line| svg.contains(&line.name)), "{svg}");
        assert!(plot(&figure(&StudyResults::new(Vec::new()))).unwrap().starts_with("<svg"));
    }
}
