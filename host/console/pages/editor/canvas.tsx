/** The drawing itself: nodes are dropped on it, moved by dragging, and connected by dragging from their right edge. */
import { useRef, useState } from 'preact/hooks';
import { nodeHeight, widthOf } from '../../parts/layout.js';
import { t } from '../../state/language.js';
import type { Drawing, DrawnNode } from './model.js';
import { droppedNode, isNode } from './palette.js';

export interface CanvasProps {
  readonly drawing: Drawing;
  readonly selected: string | undefined;
  /** What stands below the name of a node: its rates. */
  readonly noteOf: (node: DrawnNode) => string;
  readonly onSelect: (name: string) => void;
  /** A node of the palette is dropped; without a place it stands right of all others. */
  readonly onDrop: (node: Pick<DrawnNode, 'type' | 'kind'>, place?: Pick<DrawnNode, 'x' | 'y'>) => void;
  readonly onMove: (name: string, x: number, y: number) => void;
  readonly onConnect: (from: string, to: string) => void;
}

interface Drag {
  readonly name: string;
  readonly isConnecting: boolean;
  /** From the corner of the node to the pointer. */
  readonly dx: number;
  readonly dy: number;
  readonly x: number;
  readonly y: number;
}

const labelOf = ({ name }: DrawnNode) => name;
const widthOfNode = (node: DrawnNode) => widthOf(labelOf(node));

export function Canvas({ drawing, selected, noteOf, onSelect, onDrop, onMove, onConnect }: CanvasProps) {
  const svg = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<Drag>();
  const { nodes, edges } = drawing;
  const width = Math.max(700, ...nodes.map((node) => node.x + widthOfNode(node) + 40));
  const height = Math.max(320, ...nodes.map(({ y }) => y + nodeHeight + 40));
  const placeOf = (event: MouseEvent) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.current!.getScreenCTM()!.inverse());
    return { x: point.x, y: point.y };
  };
  const begin = (event: PointerEvent, node: DrawnNode, isConnecting: boolean) => {
    event.stopPropagation();
    svg.current!.setPointerCapture(event.pointerId);
    const { x, y } = placeOf(event);
    setDrag({ name: node.name, isConnecting, dx: x - node.x, dy: y - node.y, x, y });
    onSelect(node.name);
  };
  const move = (event: PointerEvent) => {
    if (drag === undefined) return;
    const { x, y } = placeOf(event);
    if (!drag.isConnecting) onMove(drag.name, Math.max(0, x - drag.dx), Math.max(0, y - drag.dy));
    setDrag({ ...drag, x, y });
  };
  const end = () => {
    if (drag?.isConnecting) {
      const target = nodes.find((node) => isInside(node, drag.x, drag.y));
      if (target !== undefined) onConnect(drag.name, target.name);
    }
    setDrag(undefined);
  };
  const found = new Map(nodes.map((node) => [node.name, node]));
  const dragged = drag?.isConnecting ? found.get(drag.name) : undefined;
  return (
    <svg
      class="graph canvas"
      ref={svg}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={t('drawing', { n: nodes.length })}
      onPointerMove={move}
      onPointerUp={end}
      onDragOver={(event) => isNode(event) && event.preventDefault()}
      onDrop={(event) => dropped(event, placeOf(event), onDrop)}
    >
      {edges.map(({ from, to, output }) => (
        <path key={`${from} ${output} ${to}`} class="flowing" d={lineOf(found.get(from), found.get(to))} />
      ))}
      {dragged !== undefined && drag !== undefined && (
        <path d={`M${dragged.x + widthOfNode(dragged)} ${dragged.y + nodeHeight / 2}L${drag.x} ${drag.y}`} />
      )}
      {nodes.map((node) => (
        <g
          key={node.name}
          class={`node ${node.type} ${node.name === selected ? 'selected' : ''}`}
          transform={`translate(${node.x} ${node.y})`}
          onPointerDown={(event) => begin(event, node, false)}
        >
          <rect width={widthOfNode(node)} height={nodeHeight} rx={node.type === 'operator' ? 8 : 22} />
          <text x={widthOfNode(node) / 2} y={20} text-anchor="middle">
            {labelOf(node)}
          </text>
          <text class="rate" x={widthOfNode(node) / 2} y={38} text-anchor="middle">
            {noteOf(node)}
          </text>
          {node.type !== 'sink' && (
            <circle
              class="port"
              cx={widthOfNode(node)}
              cy={nodeHeight / 2}
              r={8}
              onPointerDown={(event) => begin(event, node, true)}
            />
          )}
        </g>
      ))}
    </svg>
  );
}

/** Drops a node of the palette with its middle at the pointer. */
function dropped(event: DragEvent, { x, y }: { x: number; y: number }, onDrop: CanvasProps['onDrop']): void {
  const node = droppedNode(event);
  if (node === undefined) return;
  event.preventDefault();
  onDrop(node, { x: Math.max(0, x - widthOf(node.kind) / 2), y: Math.max(0, y - nodeHeight / 2) });
}

function isInside(node: DrawnNode, x: number, y: number): boolean {
  return x >= node.x && x <= node.x + widthOfNode(node) && y >= node.y && y <= node.y + nodeHeight;
}

/** A line from the right edge of a node to the left edge of another. */
function lineOf(from: DrawnNode | undefined, to: DrawnNode | undefined): string {
  if (from === undefined || to === undefined) return '';
  const [x1, y1] = [from.x + widthOfNode(from), from.y + nodeHeight / 2];
  const [x2, y2] = [to.x, to.y + nodeHeight / 2];
  const bend = Math.max(30, Math.abs(x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
