/** From a graph to the logical plan: a root for each way into a sink, operators that ways have in common only once. */
import { HaumeaError } from '../../base/errors.js';
import type { GraphEdge, GraphNode, RuleGraph } from '../../run/api.js';
import { checkWindow } from '../analyse.js';
import { refuse } from '../errors.js';
import { checkEventTime, definitionOf } from '../join.js';
import type { Logical, Root } from '../logical.js';
import { Source } from '../source.js';
import { checkGraph } from './check.js';
import { applied, inOrder, passed } from './operators.js';
import type { Branch, Context, Point } from './point.js';
import { nowhere } from './props.js';
import { mergedRows, rowOfSource } from './row.js';
import { streamNameOf } from './streams.js';

/** Ways that meet in one node; more multiply the work of every row beyond reason. */
const maxMeeting = 100;

/** Places that are known, by node and output. */
type Places = Map<string, Point>;

/** Checks the graph and plans it. Throws `plan` errors that name the node and the property. */
export function planGraph(graph: RuleGraph, context: Context): { sources: Source[]; roots: Root[] } {
  checkGraph(graph, context.catalog);
  return new GraphPlanner(graph, context).plan();
}

class GraphPlanner {
  private readonly sources: Source[] = [];
  private readonly byName: ReadonlyMap<string, GraphNode>;

  constructor(
    private readonly graph: RuleGraph,
    private readonly context: Context,
  ) {
    this.byName = new Map(graph.nodes.map((node) => [node.name, node]));
  }

  plan(): { sources: Source[]; roots: Root[] } {
    const places: Places = new Map();
    const actions = new Map<Point, number[]>();
    const sinks = this.graph.nodes.filter(({ type }) => type === 'sink');
    sinks.forEach((sink, action) => {
      for (const edge of this.inputsOf(sink)) {
        const point = this.pointAt(edge, places);
        const known = actions.get(point);
        if (known === undefined) actions.set(point, [action]);
        else if (!known.includes(action)) known.push(action);
      }
    });
    const roots = [...actions].map(
      ([{ operator: input, row }, indexes]): Root => ({ node: { kind: 'project', input, row }, actions: indexes }),
    );
    return { sources: this.sources, roots };
  }

  private inputsOf({ name }: GraphNode): GraphEdge[] {
    return this.graph.edges.filter(({ to }) => to === name);
  }

  /** What comes along an edge. */
  private pointAt({ from, output }: GraphEdge, places: Places): Point {
    const key = JSON.stringify([from, output]);
    let point = places.get(key);
    if (point === undefined) {
      const node = this.byName.get(from)!;
      point = node.type === 'source' ? this.sourcePoint(node) : this.operatorPoint(node, output, places);
      places.set(key, point);
    }
    return point;
  }

  private sourcePoint(node: GraphNode): Point {
    const { rule, catalog, values } = this.context;
    const name = streamNameOf(node);
    const alias = node.name === name ? null : node.name;
    const definition = definitionOf({ name }, catalog);
    if (definition.kind === 'table') throw refuse(`source ${node.name}: tables in graphs are not supported yet`);
    checkWindow({ window: null, groupBy: [] }, rule);
    const source = new Source(this.sources.length, definition, { name, alias, span: nowhere }, values);
    if (rule.options.isEventTime) checkEventTime(source);
    this.sources.push(source);
    const operator: Logical = { kind: 'source', source };
    const row = rowOfSource(source);
    return {
      operator,
      row,
      sent: row,
      flow: 'rows',
      branches: [{ source, row, sent: row, operator }],
      isJoined: false,
      isAsMet: true,
      window: null,
      isOrdered: false,
      watermarks: [],
    };
  }

  private operatorPoint(node: GraphNode, output: number, places: Places): Point {
    const inputs = this.inputsOf(node);
    try {
      const point = inputs.length > 1 ? this.meeting(inputs, places) : this.pointAt(inputs[0]!, places);
      if (node.nodeType === 'watermark' && this.isBeforeMeeting(node) && point.branches.length === 1) {
        return { ...point, watermarks: [...point.watermarks, node.name] };
      }
      const isOrderless = point.watermarks.length === 0 || node.nodeType === 'watermark';
      const ordered = isOrderless ? point : inOrder(point);
      const input = node.nodeType === 'switch' ? this.switchInput(node, ordered, places) : ordered;
      return applied(node, output, input, this.context);
    } catch (error) {
      if (!(error instanceof HaumeaError) || error.message.startsWith('node ')) throw error;
      throw refuse(`node ${node.name} (${node.nodeType}): ${error.message}`);
    }
  }

  /** True for a watermark of one stream that goes on to meet others: they have one watermark together. */
  private isBeforeMeeting(node: GraphNode): boolean {
    if (!this.context.rule.options.isEventTime) return false;
    const next = this.graph.edges.filter(({ from }) => from === node.name).map(({ to }) => this.byName.get(to)!);
    return next.some((one) => one.type === 'operator' && this.inputsOf(one).length > 1);
  }

  /** Where rows come to a switch, the same for all its outputs. */
  private switchInput(node: GraphNode, point: Point, places: Places): Point {
    const key = JSON.stringify([node.name]);
    let input = places.get(key);
    if (input === undefined) {
      input = passed(node, point, []);
      places.set(key, input);
    }
    return input;
  }

  /** Several ways meet: their rows become one sequence. */
  private meeting(inputs: readonly GraphEdge[], places: Places): Point {
    const branches: Branch[] = [];
    const watermarks = new Set<string>();
    for (const edge of inputs) {
      let point = this.pointAt(edge, places);
      // A stream that comes on two ways is read twice: each way has columns of its own.
      if (point.branches.some(({ source }) => branches.some((one) => one.source === source))) {
        point = this.pointAt(edge, new Map());
      }
      if (point.branches.length > 1 && point.operator.kind !== 'merge') {
        throw refuse(`${edge.from}: rows of several streams can meet others only before any operator`);
      }
      for (const name of point.watermarks) watermarks.add(name);
      const { operator, row, sent } = point;
      const [first, second] = point.branches;
      if (first !== undefined && second === undefined) branches.push({ source: first.source, operator, row, sent });
      else branches.push(...point.branches);
      if (branches.length > maxMeeting) throw refuse(`more than ${maxMeeting} ways meet`);
    }
    const sources = branches.map(({ source }) => source);
    const timestamps = this.context.rule.options.isEventTime ? sources.map((source) => source.time()) : [];
    return {
      operator: { kind: 'merge', sources, inputs: branches.map(({ operator }) => operator), timestamps },
      ...mergedRows(branches, this.context.values),
      flow: 'rows',
      branches,
      isJoined: false,
      isAsMet: true,
      window: null,
      isOrdered: false,
      watermarks: [...watermarks],
    };
  }
}
