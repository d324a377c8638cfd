/** From a graph to the logical plan: a root for each way into a sink, operators that ways have in common only once. */

import { HaumeaError } from '../../base/errors.js';
import type { Catalog, GraphEdge, GraphNode, RuleDefinition, RuleGraph } from '../../model/engine.js';
import { nodeErrors } from '../errors/node.js';
import { windowErrors } from '../errors/window.js';
import { checkEventTime, definitionOf, isAsked } from '../joins/join.js';
import type { Logical, Root } from '../logical/logical.js';
import { Source } from '../values/source.js';
import { Values } from '../values/value.js';
import { checkGraph, isTable, takesMany } from './check.js';
import { Edges } from './edges.js';
import { applied, inOrder } from './operators.js';
import type { Branch, Context, Point } from './point.js';
import { nowhere } from './props.js';
import { mergedRows, ownRows, rowOfSource } from './row.js';
import { streamNameOf } from './streams.js';
import { Switch } from './switch.js';

/** Ways that meet in one node; more multiply the work of every row beyond reason. */
const maxMeeting = 100;

/** First number above those of the sources of a graph. */
const behindAll = 1 << 20;

/** Points and switches of a way through the graph, as far as planned. */
class Places {
  /** Points by node and output. */
  readonly points = new Map<string, Point>();
  readonly switches = new Map<GraphNode, Switch>();
}

/** Checks the graph and plans it. Throws `plan` errors that name the node and the property. */
export function planGraph(
  graph: RuleGraph,
  rule: RuleDefinition,
  catalog: Catalog,
  values: Values,
): { sources: Source[]; roots: Root[] } {
  if (rule.options.sendMetaToSink) throw windowErrors.sendMeta('a graph');
  const edges = new Edges(graph);
  checkGraph(graph, edges, catalog);
  const planned = (into: Values, fed: number) =>
    new GraphPlanner(graph, edges, { rule, catalog, values: into, ordered: new Map() }, fed).plan();
  const hasAsked = graph.nodes.some((node) => {
    const definition = isTable(node) ? catalog.source(streamNameOf(node)) : undefined;
    return definition !== undefined && isAsked(definition);
  });
  if (!hasAsked) return planned(values, 0);
  // Tables that are asked come last, behind sources of which only the plan says how many there are.
  const { sources } = planned(new Values(), behindAll);
  return planned(values, sources.filter((source) => !source.isAsked).length);
}

class GraphPlanner {
  private readonly sources: Source[] = [];
  /** Tables by their nodes. */
  private readonly tables = new Map<GraphNode, Branch>();

  constructor(
    private readonly graph: RuleGraph,
    private readonly edges: Edges,
    private readonly context: Context,
    /** Number of the first table that is asked. */
    private readonly firstAsked: number,
  ) {}

  plan(): { sources: Source[]; roots: Root[] } {
    const places = new Places();
    const actions = new Map<Point, number[]>();
    const sinks = this.graph.nodes.filter(({ type }) => type === 'sink');
    sinks.forEach((sink, action) => {
      for (const edge of this.edges.into(sink)) {
        const point = this.withoutWatermarks(this.pointAt(edge, places));
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

  /** Point at the end of an edge. */
  private pointAt({ from, output }: GraphEdge, places: Places): Point {
    const key = JSON.stringify([from, output]);
    let point = places.points.get(key);
    if (point === undefined) {
      const node = this.edges.node(from);
      point = node.type === 'source' ? this.sourcePoint(node) : this.operatorPoint(node, output, places);
      places.points.set(key, point);
    }
    return point;
  }

  private sourcePoint(node: GraphNode): Point {
    const { rule } = this.context;
    const branch = this.addSource(node);
    if (rule.options.isEventTime) checkEventTime(branch.source);
    return pointOf([branch], branch);
  }

  private addSource(node: GraphNode): Branch {
    const { catalog, values } = this.context;
    const name = streamNameOf(node);
    const alias = node.name === name ? null : node.name;
    const definition = definitionOf({ name }, catalog);
    const asked = this.sources.filter((one) => one.isAsked).length;
    const source = new Source(
      isAsked(definition) ? this.firstAsked + asked : this.sources.length - asked,
      definition,
      { name, alias, query: null, span: nowhere },
      values,
    );
    this.sources.push(source);
    const row = rowOfSource(source);
    return { source, row, sent: row, operator: { kind: 'source', source } };
  }

  private tableOf(node: GraphNode): Branch {
    let table = this.tables.get(node);
    if (table === undefined) {
      table = this.addSource(node);
      this.tables.set(node, table);
    }
    return table;
  }

  private operatorPoint(node: GraphNode, output: number, places: Places): Point {
    const all = this.edges.into(node);
    const isFromTable = ({ from }: GraphEdge) => isTable(this.edges.node(from));
    const inputs = all.filter((edge) => !isFromTable(edge));
    try {
      const point = inputs.length > 1 ? this.meeting(inputs, places) : this.pointAt(inputs[0]!, places);
      if (node.nodeType === 'watermark' && this.isBeforeMeeting(node) && point.branches.length === 1) {
        return { ...point, watermarks: [...point.watermarks, node.name] };
      }
      const ordered = node.nodeType === 'watermark' ? point : this.withoutWatermarks(point);
      if (node.nodeType === 'switch') return this.switchAt(node, ordered, places).output(output);
      const tables = all.filter(isFromTable).map(({ from }) => this.tableOf(this.edges.node(from)));
      return applied(node, ordered, tables, this.context);
    } catch (error) {
      if (!(error instanceof HaumeaError) || error.message.startsWith('node ')) throw error;
      throw nodeErrors.within(node.name, node.nodeType, error.message);
    }
  }

  /** The rows in their order, where watermark nodes have left that to be done. */
  private withoutWatermarks(point: Point): Point {
    return point.watermarks.length === 0 ? point : inOrder(point, this.context);
  }

  /** True for a watermark of one stream that goes on to meet others: they have one watermark together. */
  private isBeforeMeeting(node: GraphNode): boolean {
    if (!this.context.rule.options.isEventTime) return false;
    const next = this.edges.outOf(node).map(({ to }) => this.edges.node(to));
    return next.some((one) => takesMany(one) && this.edges.into(one).length > 1);
  }

  private switchAt(node: GraphNode, point: Point, places: Places): Switch {
    let found = places.switches.get(node);
    if (found === undefined) {
      found = new Switch(node, point, this.context);
      places.switches.set(node, found);
    }
    return found;
  }

  /** Several ways meet: their rows become one sequence. */
  private meeting(inputs: readonly GraphEdge[], places: Places): Point {
    const { rule, values } = this.context;
    if (inputs.length > maxMeeting) throw nodeErrors.tooManyWays(maxMeeting);
    const branches: Branch[] = [];
    const watermarks = new Set<string>();
    for (const edge of inputs) {
      let point = this.pointAt(edge, places);
      // A stream that comes on two ways is read twice: each way has columns of its own.
      if (point.branches.some(({ source }) => branches.some((one) => one.source === source))) {
        point = this.pointAt(edge, new Places());
      }
      const [first, second] = point.branches;
      if (first === undefined || second !== undefined) {
        throw nodeErrors.joinedRowsMeet(edge.from);
      }
      if (point.isMade === true) throw nodeErrors.scriptRowsMeet(edge.from);
      for (const name of point.watermarks) watermarks.add(name);
      const { operator, row, sent } = point;
      branches.push({ source: first.source, operator, ...ownRows(first.source, { row, sent }, values) });
    }
    const sources = branches.map(({ source }) => source);
    const timestamps = rule.options.isEventTime ? sources.map((source) => source.time()) : [];
    const operator: Logical = {
      kind: 'merge',
      sources,
      inputs: branches.map((branch) => branch.operator),
      timestamps,
    };
    const rows = mergedRows(branches, values);
    return { ...pointOf(branches, { operator, ...rows }), watermarks: [...watermarks] };
  }
}

/** Makes the point at which rows of streams come in, or meet. */
function pointOf(
  branches: readonly Branch[],
  { operator, row, sent }: Pick<Point, 'operator' | 'row' | 'sent'>,
): Point {
  return {
    operator,
    row,
    sent,
    flow: 'rows',
    branches,
    isJoined: false,
    isAsMet: true,
    window: null,
    isOrdered: false,
    watermarks: [],
  };
}
