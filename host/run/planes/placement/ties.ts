/**
 * Ties of rules: what they share within a data plane, so that all that have it must be in one. A tie is a text that
 * users are shown, as `stream demo`.
 */
import { normalize } from 'node:path';
import type { PartKind } from '../../../connectors/define.js';
import { connectorOf } from '../../../connectors/index.js';
import { topicUse } from '../../../connectors/topic-use.js';
import { isOwnTopic } from '../../../connectors/topics/matches.js';
import type { PlacedParts, SourceSpec } from '../../link/protocol.js';
import type { Ties } from './soft-ties.js';

/** Topic of output whose rows choose it. */
const anyTopic = 'of any name';
/** Topics that may be known without being used. */
const leastPruned = 1000;

interface Topic {
  readonly type: string;
  readonly topic: string;
}

/**
 * The ties of a rule. Topics in memory go from one data plane to another, but the checkpoints of rules that feed each
 * other are cut at one instant: rules that keep their state are tied by their topics.
 */
export function tiesOf(parts: PlacedParts, topics: TopicTies): string[] {
  const { sources, lookups = [], sinks } = parts;
  return [
    ...sources.flatMap(({ name, isShared }) => (isShared ? [streamTie(name)] : [])),
    ...sources.flatMap(({ type, props }) => singleOf(type, props, 'source')),
    ...lookups.flatMap(({ type, props, call }) => (call === undefined ? singleOf(type, props, 'lookup') : [])),
    ...sinks.flatMap(({ type, props }) => [...singleOf(type, props, 'sink'), ...filesOf(type, props)]),
    ...(keepsState(parts) ? topics.of(parts) : []),
  ];
}

function keepsState({ checkpoint }: PlacedParts): boolean {
  return checkpoint !== undefined && checkpoint.isForMove !== true;
}

/** As `tiesOf`, where shared streams that can be handed to other data planes are soft ties. */
export function allTiesOf(parts: PlacedParts, topics: TopicTies): Ties {
  const handable = new Set(parts.sources.filter((source) => mayBeHanded(parts, source)));
  if (handable.size === 0) return { hard: tiesOf(parts, topics), soft: [], isMovable: false };
  const others = parts.sources.filter((source) => !handable.has(source));
  return {
    hard: tiesOf({ ...parts, sources: others }, topics),
    soft: [...handable].map(({ name, type, props }) => ({
      tie: streamTie(name),
      with: singleOf(type, props, 'source'),
    })),
    isMovable: others.length === 0,
  };
}

/** Tie of a shared stream. */
export function streamTie(name: string): string {
  return `stream ${name}`;
}

/**
 * Whether rules on the stream can be in several data planes: those that keep their state are cut at one instant with
 * others, tables are whole before rows come, and code of users is in the data plane of the rule. Parts of a divided
 * rule get what its feeders have put in order.
 */
function mayBeHanded(parts: PlacedParts, { name, type, isShared, decoder, program }: SourceSpec): boolean {
  const { plan, inputLogs, portables = [], sinks } = parts;
  if (!isShared || plan === undefined || keepsState(parts) || inputLogs !== undefined || portables.length > 0)
    return false;
  if (decoder !== undefined || program !== undefined || connectorOf(type)?.isInternal !== false) return false;
  if (sinks.some(({ props }) => typeof props.topic === 'string' && isOwnTopic(props.topic))) return false;
  return plan.nodes.every(({ kind, input }) => {
    const isOfTable = kind === 'port' || kind === 'keyedTable';
    return !isOfTable || input === null || !('source' in input) || plan.sources[input.source]?.stream !== name;
  });
}

function singleOf(type: string, props: Record<string, unknown>, part: PartKind): string[] {
  try {
    return [connectorOf(type)?.connection?.single?.(props, part) ?? []].flat();
  } catch {
    // The start of the rule tells what is wrong with its properties.
    return [];
  }
}

/** Lines of two rules in one file are written by one writer. */
function filesOf(type: string, props: Record<string, unknown>): string[] {
  return (connectorOf(type)?.sink?.ownFiles ?? []).flatMap((name) => {
    const path = props[name];
    return typeof path === 'string' ? [`file ${normalize(path)}`] : [];
  });
}

/**
 * Ties by topics in memory. A topic with wildcards has the ties of all topics that it stands for, and those that come
 * later have its own.
 */
export class TopicTies {
  readonly #topics = new Map<string, Topic>();
  /** Topics with wildcards. */
  readonly #filters = new Map<string, Topic>();
  #pruneAt = leastPruned;

  /** @param isUsed tells whether something has the tie still */
  constructor(private readonly isUsed: (tie: string) => boolean) {}

  of({ sources, sinks }: Pick<PlacedParts, 'sources' | 'sinks'>): string[] {
    const { reads, writes } = topicUse({ sources, sinks });
    this.#prune();
    const topics = [
      ...reads.map(({ type, dataSource }) => ({ type, topic: dataSource })),
      ...writes.map(({ type, topic = anyTopic }) => ({ type, topic })),
    ];
    // Markers follow the rows of the engine's own topics, whichever data plane they go to.
    return topics.flatMap((one) => (isOwnTopic(one.topic) ? [] : this.#tiesOf(one)));
  }

  #tiesOf(topic: Topic): string[] {
    const tie = `topic ${topic.topic}`;
    const others = [...this.#filters];
    if (isFilter(topic)) {
      others.push(...this.#topics);
      this.#filters.set(tie, topic);
    } else this.#topics.set(tie, topic);
    return [tie, ...others.flatMap(([otherTie, other]) => (meet(topic, other) ? [otherTie] : []))];
  }

  /** Forgets topics that nothing uses any more, when there are many. */
  #prune(): void {
    if (this.#topics.size + this.#filters.size < this.#pruneAt) return;
    for (const known of [this.#topics, this.#filters]) {
      for (const tie of known.keys()) if (!this.isUsed(tie)) known.delete(tie);
    }
    this.#pruneAt = 2 * (this.#topics.size + this.#filters.size) + leastPruned;
  }
}

function isFilter({ topic }: Topic): boolean {
  return topic === anyTopic || /[+#]/.test(topic);
}

/** Whether what is written to one may be read by the other. */
function meet(one: Topic, other: Topic): boolean {
  if (one.type !== other.type) return false;
  if (one.topic === anyTopic || other.topic === anyTopic) return true;
  // Those with wildcards are readers.
  if (isFilter(one) && isFilter(other)) return false;
  const [filter, topic] = isFilter(one) ? [one, other] : [other, one];
  return connectorOf(one.type)!.topics!.areRead(filter.topic, topic.topic);
}
