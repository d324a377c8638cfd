/**
 * Records traces in the data plane: figures of the nodes before and after the kernel works on a batch become spans. It
 * costs nothing while no rule is traced.
 */
import { randomBytes } from 'node:crypto';
import type { Kernel, NodeCounters, NodeHandle, OutputChunk } from '../../../../kernels/api.js';
import type { OperatorPlan } from '../../../../kernels/plan/ir.js';
import { nothingSecret, type Redact, redactedTexts } from '../../../base/secrets/redact.js';
import { sinkForm } from '../../../connectors/loaded.js';
import { noParent, type SpanRecord, type TraceRecord, type TraceStrategy } from '../../../model/traces.js';
import type { TraceOrder } from '../../link/protocol.js';
import type { InputAtWork, RunningRule, RunningSource } from '../running/running.js';
import { TraceTaps } from './trace-taps.js';

/** Most bytes of input and output that a span shows. */
const maxDataBytes = 1024;
/** Contexts taken from one piece of input. */
const maxContexts = 100;

/** Context of a trace that came with the input (W3C `traceparent`). */
interface Context {
  traceId: string;
  spanId: string;
}

interface Before {
  rule: RunningRule;
  taps: TraceTaps;
  contexts: Context[];
  nodes: NodeCounters[];
  messages: number;
  decodeUs: number;
}

export interface Work {
  readonly source: RunningSource | undefined;
  /** The source, or the branch in which its input has waited. */
  readonly place: InputAtWork['place'] | undefined;
  /** The begin of the input. */
  readonly bytes: Uint8Array | undefined;
  readonly startUs: number;
  readonly rules: readonly Before[];
}

export class TraceRecorder {
  readonly #traced = new Map<RunningRule, { strategy: TraceStrategy; taps: TraceTaps }>();
  #outputs: Map<NodeHandle, Buffer> | undefined;

  constructor(
    readonly kernel: () => Kernel,
    readonly record: (trace: TraceRecord) => void,
  ) {}

  get isOn(): boolean {
    return this.#traced.size > 0;
  }

  follows(rule: RunningRule): boolean {
    return this.#traced.has(rule);
  }

  /** Follows a rule from now on, null: no longer. To be called while it is linked. */
  set(rule: RunningRule, order: TraceOrder | null): void {
    this.#traced.get(rule)?.taps.release();
    this.#traced.delete(rule);
    if (order === null) return;
    this.#traced.set(rule, { strategy: order.strategy, taps: new TraceTaps(rule, this.kernel(), order.taps) });
  }

  /** Takes the figures of traced rules before the kernel works. */
  begin(whose: ReadonlySet<RunningRule>, input?: InputAtWork): Work | undefined {
    const { source, place, bytes } = input ?? {};
    let found: Context[] | undefined;
    const rules: Before[] = [];
    for (const [rule, { strategy, taps }] of this.#traced) {
      if (rule.isEnding || !whose.has(rule)) continue;
      found ??= bytes === undefined ? [] : contextsIn(bytes);
      if (strategy === 'head' && found.length === 0) continue;
      const contexts = strategy === 'head' ? found : [found[0] ?? { traceId: hex(16), spanId: noParent }];
      const counters = place?.counters;
      rules.push({
        rule,
        taps,
        contexts,
        nodes: rule.nodes.map(({ handle }) => this.kernel().counters(handle)),
        messages: counters?.messages ?? 0,
        decodeUs: counters?.busyUs ?? 0,
      });
    }
    if (rules.length === 0) return undefined;
    this.#outputs = new Map();
    return { source, place, bytes: bytes?.slice(0, maxDataBytes), startUs: nowUs(), rules };
  }

  /** Keeps the start of what an encode node writes while traced rules are at work. */
  output(chunk: OutputChunk): void {
    if (this.#outputs === undefined || this.#outputs.has(chunk.node)) return;
    this.#outputs.set(chunk.node, Buffer.from(chunk.bytes.slice(0, maxDataBytes)));
  }

  /** Turns what changed since `begin` into spans. */
  finish({ source, place, bytes, startUs, rules }: Work): void {
    const endUs = nowUs();
    const outputs = this.#outputs ?? new Map<NodeHandle, Buffer>();
    this.#outputs = undefined;
    for (const before of rules) {
      const { rule, taps } = before;
      const counters = place?.counters;
      const messages = (counters?.messages ?? 0) - before.messages;
      const after = rule.nodes.map(({ handle }) => this.kernel().counters(handle));
      const isMoved = after.some((node, i) => moved(before.nodes[i]!, node));
      // Half a message, or a look at the time at which no window was due.
      if (messages === 0 && !isMoved) continue;
      const decodeUs = (counters?.busyUs ?? 0) - before.decodeUs;
      const { redact } = rule;
      const shown = shownInput(bytes, source, redact);
      const steps = stepsOf(rule, source, {
        before: before.nodes,
        after,
        messages,
        decodeUs,
        outputs,
        taps,
        input: shown,
      });
      for (const context of before.contexts) {
        const root = chain(steps, context.spanId, startUs, endUs);
        if (root !== undefined) this.record({ traceId: context.traceId, rule: rule.id, root: redacted(root, redact) });
      }
    }
  }
}

/** An operator that took part, with those behind it. */
interface Step {
  name: string;
  us: number;
  attribute: Record<string, string | number>;
  next: Step[];
}

interface Figures {
  before: NodeCounters[];
  after: NodeCounters[];
  messages: number;
  decodeUs: number;
  outputs: ReadonlyMap<NodeHandle, Buffer>;
  taps: TraceTaps;
  /** The messages, without what frames them. */
  input: Uint8Array | undefined;
}

/**
 * The operators from the source down: a chain, split at the sinks, or as a graph draws them; ways end where no row went
 * on.
 */
function stepsOf(rule: RunningRule, source: RunningSource | undefined, figures: Figures): Step | undefined {
  const { operators } = rule;
  const isOwn = (operator: OperatorPlan) =>
    operator.source === undefined || source === undefined
      ? (operator.source ?? 0) === 0
      : rule.sources[operator.source] === source;
  const from = operators.find((operator) => operator.part === 'source' && isOwn(operator));
  if (from === undefined) return undefined;
  const { input, messages } = figures;
  // As they came: base64.
  const raw: Step['attribute'] = input === undefined ? {} : { data: Buffer.from(input).toString('base64') };
  const root = stepOf(from, { rule: rule.id, messages, ...raw });
  let last = root;
  /** Operators that gave rows, by name. */
  const reached = new Map([[from.name, root]]);
  const before = ({ after }: OperatorPlan): Step | undefined =>
    after === undefined ? last : after.map((name) => reached.get(name)).find((step) => step !== undefined);
  const decoder = operators.find((operator) => operator.part === 'decoder' && isOwn(operator));
  if (decoder !== undefined && figures.messages > 0) {
    last = followedBy(last, stepOf(decoder, { rule: rule.id, ...raw }, figures.decodeUs));
  }
  if (decoder !== undefined) reached.set(decoder.name, last);
  const working = operators.filter(({ part, nodes }) => part === 'operator' && nodes.length > 0);
  const isIdle = working.length > 0 && working.every((operator) => changeOf(operator, figures) === undefined);
  // No message could be decoded, and no sink was told.
  if (isIdle && !rule.nodes.some(({ handle }) => figures.outputs.has(handle))) return root;
  /** Rows that operators gave on: those of the messages as long as they are all of them, otherwise what shows them. */
  const given = new Map<Step, string | undefined>([[last, messageRows(input)]]);
  for (const operator of working) {
    const change = changeOf(operator, figures);
    const giver = before(operator);
    if (change === undefined || giver === undefined) continue;
    const rows = given.get(giver);
    const data: Step['attribute'] = rows === undefined ? {} : { data: rows };
    const attribute = { rule: rule.id, rowsIn: change.in, rowsOut: change.out, ...data };
    last = followedBy(giver, stepOf(operator, attribute, change.us));
    const isPassed = change.out === change.in && change.in === messages && passesRows.test(operator.name);
    given.set(last, isPassed ? rows : writtenBy(operator, rule, figures));
    if (change.out > 0) reached.set(operator.name, last);
    else if (operator.after === undefined) return root;
  }
  for (const action of rule.sinks.keys()) {
    if (rule.sinks[action]?.spec.getsLetters === true) continue;
    const first = operators.find((operator) => operator.action === action);
    const giver = first === undefined ? undefined : before(first);
    if (giver !== undefined) addSink(giver, rule, action, figures);
  }
  return root;
}

/** Operators that give on the rows they get. */
const passesRows = /_filter$/;

/**
 * The operators of a sink: with what was written as text, the sink itself with the bytes it got, as base64, if it takes
 * bytes.
 */
function addSink(last: Step, rule: RunningRule, action: number, figures: Figures): void {
  let at = last;
  const sink = rule.sinks[action];
  const isText = sink !== undefined && sinkForm(sink.spec.type, sink.spec.props).takes !== 'rows';
  for (const operator of rule.operators) {
    if (operator.action !== action) continue;
    const written = writtenBy(operator, rule, figures);
    const isBytes = isText && operator.part === 'sink' && !operator.nodes.some((i) => rule.nodes[i]?.isSilent);
    const data = isBytes && written !== undefined ? Buffer.from(written).toString('base64') : written;
    at = followedBy(at, stepOf(operator, data === undefined ? { rule: rule.id } : { rule: rule.id, data }));
  }
}

/** The rows that an operator gave on, as text. */
function writtenBy({ nodes }: OperatorPlan, rule: RunningRule, { outputs, taps }: Figures): string | undefined {
  for (const i of nodes.toReversed()) {
    const handle = rule.nodes[i]?.handle ?? 0;
    const written = outputs.get(taps.of(handle) ?? handle);
    if (written !== undefined) return written.toString().trimEnd();
  }
  return undefined;
}

function messageRows(input: Uint8Array | undefined): string | undefined {
  return input === undefined ? undefined : Buffer.from(input).toString();
}

function stepOf(operator: OperatorPlan, attribute: Step['attribute'], us = 0): Step {
  return { name: bare(operator.name), us, attribute, next: [] };
}

function followedBy(step: Step, next: Step): Step {
  step.next.push(next);
  return next;
}

function changeOf(operator: OperatorPlan, { before, after }: Figures) {
  const first = operator.nodes[0];
  const last = operator.nodes.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const change = {
    in: after[first]!.recordsIn - before[first]!.recordsIn,
    out: after[last]!.recordsOut - before[last]!.recordsOut,
    us: operator.nodes.reduce((sum, i) => sum + after[i]!.busyUs - before[i]!.busyUs, 0),
  };
  return change.in === 0 && change.out === 0 ? undefined : change;
}

/** Spans of the steps, one after the other within the time of the batch. */
function chain(root: Step | undefined, parentId: string, startUs: number, endUs: number): SpanRecord | undefined {
  if (root === undefined) return undefined;
  const spans = (step: Step, parent: string, from: number): SpanRecord => {
    const spanId = hex(8);
    const end = Math.min(endUs, from + step.us);
    const children = step.next.map((next) => spans(next, spanId, end));
    return {
      spanId,
      parentId: parent,
      name: step.name,
      startUs: from,
      endUs: end,
      attribute: step.attribute,
      children,
    };
  };
  return { ...spans(root, parentId, startUs), endUs };
}

const lineFeed = Buffer.from('\n');

/** The messages of input, one in each line, in which the secrets of the rule are masked. */
function shownInput(
  input: Uint8Array | undefined,
  source: RunningSource | undefined,
  redact: Redact,
): Uint8Array | undefined {
  const messages = input === undefined ? undefined : source?.messagesIn(input);
  if (messages === undefined) return undefined;
  const joined = Buffer.concat(messages.flatMap((message, i) => (i === 0 ? [message] : [lineFeed, message])));
  if (redact === nothingSecret) return joined;
  const text = joined.toString();
  const masked = redact(text);
  return masked === text ? joined : Buffer.from(masked);
}

/** The spans with the secrets of the rule masked in what they show. */
function redacted(span: SpanRecord, redact: Redact): SpanRecord {
  if (redact === nothingSecret) return span;
  const children = span.children.map((child) => redacted(child, redact));
  return { ...span, attribute: redactedTexts(span.attribute, redact), children };
}

function moved(before: NodeCounters, after: NodeCounters): boolean {
  return before.recordsIn !== after.recordsIn || before.recordsOut !== after.recordsOut;
}

/** `source_demo` → `demo`, `op_2_filter` → `2_filter`. */
function bare(name: string): string {
  return name.replace(/^(?:source|op|sink)_/, '');
}

const marker = 'traceparent';
const contextForm = /00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/;
const contextReach = 100;

/** Finds contexts in user properties and metadata without decoding the input. */
function contextsIn(input: Uint8Array): Context[] {
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const contexts: Context[] = [];
  for (let at = bytes.indexOf(marker); at >= 0 && contexts.length < maxContexts; at = bytes.indexOf(marker, at + 1)) {
    const match = contextForm.exec(bytes.toString('latin1', at, at + contextReach));
    if (match?.[1] !== undefined && match[2] !== undefined) contexts.push({ traceId: match[1], spanId: match[2] });
  }
  return contexts;
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

function nowUs(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}
