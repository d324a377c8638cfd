/** The operators of a rule as a drawing, from its sources to its sinks. */
import { useMemo } from 'preact/hooks';
import { type Layout, layoutOf } from '../../../parts/layout.js';
import { short } from '../../../parts/numbers.js';
import { t } from '../../../state/language.js';
import { type GraphProps, labelOf, type RatedOperator } from './operators.js';

/** Room for the name, the rates, and latency with what is wrong. */
const nodeHeight = 62;
/** Fewest characters that a box has room for. */
const leastChars = 16;

/** On narrow screens the drawing goes down, on others to the right. */
const narrow = matchMedia('(max-width: 820px)');

export function Graph({ edges, operators }: GraphProps) {
  const isDown = narrow.matches;
  const layout = useMemo(() => placed(edges, isDown), [JSON.stringify(edges), isDown]);
  const found = new Map(operators.map((operator) => [operator.name, operator]));
  return (
    <svg
      class="graph"
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      width={layout.width}
      height={layout.height}
      role="img"
      aria-label={t('graphOf', { n: layout.nodes.length })}
    >
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0L8 4L0 8z" />
        </marker>
      </defs>
      {layout.edges.map(({ from, to, path }) => (
        <path
          key={`${from} ${to}`}
          d={path}
          class={(found.get(from)?.out ?? 0) > 0 ? 'flowing' : ''}
          marker-end="url(#arrow)"
        />
      ))}
      {layout.nodes.map(({ name, x, y, width }) => (
        <Node key={name} name={name} x={x} y={y} width={width} operator={found.get(name)} />
      ))}
    </svg>
  );
}

interface NodeProps {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly operator: RatedOperator | undefined;
}

function Node({ name, x, y, width, operator }: NodeProps) {
  const isFailing = operator !== undefined && (operator.isAway || operator.errors > 0);
  const kind = /^[a-z]+/.exec(name)?.[0] ?? '';
  return (
    <g
      class={`node ${kind} ${isFailing ? 'failing' : ''}`}
      transform={`translate(${x - width / 2} ${y - nodeHeight / 2})`}
    >
      <title>{operator?.lastError || name}</title>
      <rect width={width} height={nodeHeight} rx={kind === 'op' ? 8 : 22} />
      <text x={width / 2} y={20} text-anchor="middle">
        {labelOf(name)}
      </text>
      <text class="rate" x={width / 2} y={38} text-anchor="middle">
        {operator === undefined ? '' : `${short(operator.in)} → ${short(operator.out)} /s`}
      </text>
      <text class="rate" x={width / 2} y={53} text-anchor="middle">
        {operator === undefined ? '' : noteOf(operator)}
      </text>
    </g>
  );
}

/** Latency, and the errors or what waits. */
function noteOf({ latencyUs, errors, waiting }: RatedOperator): string {
  const trouble =
    errors > 0 ? t('errorCount', { n: short(errors) }) : waiting > 0 ? t('waitingCount', { n: short(waiting) }) : '';
  return [latencyUs > 0 ? `${short(latencyUs)} µs` : '', trouble].filter((text) => text !== '').join(' · ');
}

function placed(edges: GraphProps['edges'], isDown: boolean): Layout {
  const names = new Set([...Object.keys(edges), ...Object.values(edges).flat()]);
  return layoutOf(
    [...names].map((name) => [name, labelOf(name).padEnd(leastChars)] as const),
    Object.entries(edges).flatMap(([from, targets]) => targets.map((to) => [from, to] as const)),
    isDown,
    nodeHeight,
  );
}
