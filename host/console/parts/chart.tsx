/** Lines over time. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { t } from '../state/language.js';
import { theme } from '../state/theme.js';
import { clock, short } from './numbers.js';

export interface ChartLine {
  readonly label: string;
  /** Name of a colour of the style sheet. */
  readonly colour: string;
}

/** Most and least time from the left edge to the right one. */
const spanSeconds = 120;
const leastSeconds = 2;

const dark = matchMedia('(prefers-color-scheme: dark)');

const rem = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

interface ChartProps {
  /** What the chart shows, for those who do not see it. */
  readonly title: string;
  readonly lines: readonly ChartLine[];
  /** False: the points are numbered. */
  readonly isOverTime?: boolean;
  /** Epoch seconds, or numbers of the points. */
  readonly times: readonly number[];
  readonly series: readonly (readonly (number | null)[])[];
}

export function Chart({ title, isOverTime = true, lines, times, series }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const look = `${theme.value} ${lines.map(({ label }) => label).join('|')}`;
  useEffect(() => {
    const parent = box.current!;
    const size = () => ({ width: parent.clientWidth, height: parent.clientHeight });
    const drawn = new uPlot(optionsOf(lines, size(), isOverTime), [[], ...lines.map(() => [])], parent);
    plot.current = drawn;
    const observer = new ResizeObserver(() => drawn.setSize(size()));
    observer.observe(parent);
    // The canvas has the colours of its last drawing.
    const recolour = () => drawn.redraw();
    dark.addEventListener('change', recolour);
    return () => {
      dark.removeEventListener('change', recolour);
      observer.disconnect();
      drawn.destroy();
    };
  }, [look]);
  useEffect(() => {
    plot.current?.setData([[...times], ...series.map((values) => [...values])]);
  }, [times.at(-1), look]);
  const last = lines.map(({ label }, i) => `${label} ${short(series[i]?.at(-1) ?? 0)}`).join(', ');
  return (
    <>
      <div class="chart" role="img" aria-label={`${title}: ${last}`} ref={box} />
      <ul class="legend" aria-hidden="true">
        {lines.map(({ label, colour }, i) => (
          <li key={label}>
            <i style={{ background: `var(${colour})` }} />
            {label} <b>{lastOf(series[i], isOverTime)}</b>
          </li>
        ))}
      </ul>
    </>
  );
}

function optionsOf(
  lines: readonly ChartLine[],
  size: { width: number; height: number },
  isOverTime: boolean,
): uPlot.Options {
  const colour = (name: string) => colourOf(name);
  const axis: uPlot.Axis = {
    stroke: () => colour('--faint'),
    grid: { stroke: () => colour('--line'), width: 1 },
    ticks: { stroke: () => colour('--line'), width: 1 },
    font: `${0.8 * rem()}px system-ui`,
  };
  return {
    ...size,
    // The last time has room at the right.
    padding: [null, isOverTime ? 2.8 * rem() : null, null, null],
    cursor: { y: false },
    legend: { show: false },
    scales: {
      x: isOverTime ? { range: (_plot, min, max) => spanOf(min, max) } : { time: false },
      y: { range: (_plot, min, max) => rangeOf(min, max, isOverTime) },
    },
    axes: [
      {
        ...axis,
        space: 5 * rem(),
        values: ({ data }, ticks) => ticks.map((tick) => tickText(tick, data[0].length, isOverTime)),
      },
      { ...axis, size: 3.4 * rem(), space: 2 * rem(), values: (_plot, ticks) => ticks.map((tick) => short(tick)) },
    ],
    series: [
      {},
      ...lines.map(({ label, colour: name }) => ({
        label,
        stroke: () => colour(name),
        width: 2,
        points: { show: false },
        value: (_plot: uPlot, value: number | null) => (value === null ? '–' : short(value)),
      })),
    ],
  };
}

/** A time, or the number of a point; nothing while there is none. */
function tickText(tick: number, points: number, isOverTime: boolean): string {
  if (points === 0) return '';
  return isOverTime ? clock(tick * 1000) : String(tick);
}

/** From the first point on: before it nothing is known. */
function spanOf(first: number, last: number): [number, number] {
  return [Math.min(Math.max(first, last - spanSeconds), last - leastSeconds), last];
}

/** A colour as the theme has it: canvases know no variables. */
function colourOf(name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function lastOf(values: readonly (number | null)[] | undefined, isOverTime: boolean): string {
  const last = short(values?.at(-1) ?? 0);
  return isOverTime ? t('perSecond', { n: last }) : last;
}

/** Rates begin at 0; values have a little room above and below. */
function rangeOf(min: number | null, max: number | null, isOverTime: boolean): [number, number] {
  const [low, high] = [min ?? 0, max ?? 1];
  if (isOverTime) return [0, Math.max(1, high * 1.1)];
  // A line of one value has ticks that differ as they are written.
  const room = high === low ? Math.max(Math.abs(high) * 0.1, 0.1) : (high - low) * 0.1;
  return [low - room, high + room];
}
