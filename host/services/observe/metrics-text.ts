/**
 * Figures of rules in the text format of Prometheus. The format wants all samples of one name together, so that figures
 * of all rules are gathered first: as numbers, since the lines of 100,000 rules are 360 MB. They are written while the
 * document is sent.
 */
import type { RuleNumbers } from '../../model/engine.js';
import type { ExportFigures, PlaneMemory, RuleLatencies } from '../../model/figures.js';
import { type Histogram, latencyBounds } from '../../model/figures.js';
import type { InterfaceFigures } from '../external/figures.js';

const connectionStates = { connected: 1, connecting: 0, disconnected: -1 } as const;
const breakerStates = { closed: 1, 'half-open': 0, open: -1 } as const;
export type ConnectionState = keyof typeof connectionStates;

interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly lines: string[];
  /** Lines of rules, which are behind the others. */
  ofRules?: () => Iterable<string>;
}

/** Samples of rules that have the same figures. */
interface Form {
  readonly names: readonly string[];
  /** Place of the value and labels of each sample, by family. */
  readonly samples: ReadonlyMap<string, readonly (readonly [place: number, labels: string])[]>;
  /** Places of the figures of the rule itself, as `ruleFigures` has them; -1 without. */
  readonly ofRule: readonly number[];
}

/** A rule with its figures. */
interface Row {
  readonly label: string;
  readonly form: Form;
  readonly values: readonly number[];
  readonly status: 1 | 0 | -1;
}

const kinds: Readonly<Record<string, string>> = { source: 'a source', op: 'an operator', sink: 'a sink' };
const operatorFigures: Readonly<Record<string, { type: Family['type']; help: string }>> = {
  records_in_total: { type: 'counter', help: 'Records that came to' },
  records_out_total: { type: 'counter', help: 'Records that left' },
  records_late_total: { type: 'counter', help: 'Records that came too late, at' },
  records_ahead_total: { type: 'counter', help: 'Records refused because they lay too far ahead of the clock, at' },
  records_waiting: {
    type: 'gauge',
    help: 'Records that wait, for event time to reach them, for answers or for a time of their own, at',
  },
  watermark: { type: 'gauge', help: 'How far event time has come, epoch milliseconds, at' },
  partitions: { type: 'gauge', help: 'Partitions kept by functions that look back, keys kept by as-of joins, at' },
  partitions_forgotten_total: {
    type: 'counter',
    help: 'Partitions and keys forgotten since nothing came for them, at',
  },
  messages_processed_total: { type: 'counter', help: 'Messages processed by' },
  exceptions_total: { type: 'counter', help: 'Failures of' },
  process_latency_us: { type: 'gauge', help: 'Time spent in microseconds by' },
  buffer_length: { type: 'gauge', help: 'Messages waiting at' },
  messages_repeated_total: {
    type: 'counter',
    help: 'Messages that a broker delivered again and that were dropped by',
  },
  held_ms: { type: 'gauge', help: 'Milliseconds for which full sinks have stopped the reading of' },
  input_waiting_bytes: {
    type: 'gauge',
    help: 'Bytes of input in the throttle queue of a rule that reads',
  },
  input_dropped_total: {
    type: 'counter',
    help: 'Messages dropped from the full throttle queue of a rule that reads',
  },
  connection_status: { type: 'gauge', help: '1 connected, 0 connecting, -1 disconnected: the connection of' },
};

interface RuleFigure {
  /** Its name in the status. */
  readonly name: string;
  readonly family: string;
  readonly type: Family['type'];
  readonly help: string;
  readonly factor?: number;
  /** Rules without the figure have 0. */
  readonly isAlways?: boolean;
}

const ruleFigures: readonly RuleFigure[] = [
  {
    name: 'longCallsTotal',
    family: 'kuiper_rule_long_calls_total',
    type: 'counter',
    help: 'Calls of the kernel of a second and more for a rule',
    isAlways: true,
  },
  {
    name: 'checkpointsTotal',
    family: 'kuiper_rule_checkpoints_total',
    type: 'counter',
    help: 'Checkpoints of a rule that were written',
  },
  {
    name: 'checkpointFailing',
    family: 'kuiper_rule_checkpoint_failing',
    type: 'gauge',
    help: 'Above 0 when the last checkpoint of a rule could not be written',
  },
  {
    name: 'lastCheckpointBytes',
    family: 'kuiper_rule_checkpoint_bytes',
    type: 'gauge',
    help: 'Bytes that the last checkpoint of a rule needs',
  },
  {
    name: 'lastCheckpointMs',
    family: 'kuiper_rule_checkpoint_seconds',
    type: 'gauge',
    help: 'Time that the last checkpoint of a rule took',
    factor: 0.001,
  },
];

/** Figures of the cache of a sink, by the part of their name after `cache_` in the status. */
const cacheFigures: Readonly<Record<string, { type: 'counter' | 'gauge'; label: string }>> = {
  length: { type: 'gauge', label: 'length' },
  disk_length: { type: 'gauge', label: 'disk' },
  disk_bytes: { type: 'gauge', label: 'disk_bytes' },
  add_total: { type: 'counter', label: 'add' },
  pop_total: { type: 'counter', label: 'pop' },
  flush_total: { type: 'counter', label: 'flush' },
  load_total: { type: 'counter', label: 'load' },
  drop_total: { type: 'counter', label: 'drop' },
  damaged_total: { type: 'counter', label: 'damaged' },
  cut_off_total: { type: 'counter', label: 'cut_off' },
};
const cacheHelp: Readonly<Record<string, string>> = {
  counter:
    'Messages added to the cache of a sink, popped, dropped, damaged, cut off; its writes (flush) and reads (load)',
  gauge:
    'Messages in the cache of a sink that are not out (length), those of them on disk, and their bytes there ' +
    '(disk_bytes)',
};

/** Name of a figure of a cache in the status of a rule: operator, instance, figure. */
const cacheName = new RegExp(`^sink_(.+)_(\\d+)_cache_(${Object.keys(cacheFigures).join('|')})$`);

/** Name of an operator in the status: kind, operator. */
const operatorName = /^(source|op|sink)_(.+)$/;

/** Name of a figure in the status of a rule: kind, operator, instance, metric. */
const figureName = new RegExp(`^(source|op|sink)_(.+)_(\\d+)_(${Object.keys(operatorFigures).join('|')})$`);

interface Sample {
  readonly family: string;
  /** Labels that follow the rule. */
  readonly labels: string;
}

/** Forms that a rule is looked for in: where each rule has a stream of its own, none has that of another. */
const lookedForms = 16;

/** Names of figures repeat from rule to rule; this many are remembered. */
const maxNames = 20_000;

export class MetricsText {
  readonly #families = new Map<string, Family>();
  readonly #states = { running: 0, stop: 0 };
  readonly #rows: Row[] = [];
  readonly #forms: Form[] = [];

  constructor(private readonly names: Map<string, Sample | undefined>) {}

  add({ id, state, names, values }: RuleNumbers): void {
    const isRunning = state === 'running' || state === 'starting' || state === 'stopping';
    this.#states[isRunning ? 'running' : 'stop']++;
    const status = isRunning ? 1 : state === 'stopped by error' ? -1 : 0;
    this.#rows.push({ label: `{rule="${escaped(id)}"`, form: this.#formOf(names), values, status });
    if (this.#rows.length > 1) return;
    for (const [i, { family, type, help, factor = 1, isAlways = false }] of ruleFigures.entries()) {
      this.#ofRows(family, type, help, ({ label, form, values }) => {
        const value = values[form.ofRule[i] ?? -1];
        return value === undefined && !isAlways ? '' : `${family}${label}} ${(value ?? 0) * factor}\n`;
      });
    }
    const name = 'kuiper_rule_status';
    this.#ofRows(name, 'gauge', '1 running, 0 stopped, -1 stopped by an error', ({ label, status }) => {
      return `${name}${label}} ${status}\n`;
    });
  }

  /** The form of rules with these figures; most rules have that of one of those before. */
  #formOf(names: readonly string[]): Form {
    const isSame = (form: Form) =>
      form.names === names ||
      (form.names.length === names.length && form.names.every((name, place) => name === names[place]));
    const known = this.#forms.findLast(isSame);
    if (known !== undefined) return known;
    const samples = new Map<string, [number, string][]>();
    for (const [place, name] of names.entries()) {
      const sample = this.#sample(name);
      if (sample === undefined || !this.#families.has(sample.family)) continue;
      const all = samples.get(sample.family) ?? [];
      samples.set(sample.family, all);
      all.push([place, sample.labels]);
    }
    const form = { names, samples, ofRule: ruleFigures.map(({ name }) => names.indexOf(name)) };
    if (this.#forms.push(form) > lookedForms) this.#forms.shift();
    return form;
  }

  *#samplesOf(family: string): Generator<string> {
    for (const { label, form, values } of this.#rows) {
      for (const [place, labels] of form.samples.get(family) ?? []) {
        yield `${family}${label}${labels} ${values[place]}\n`;
      }
    }
  }

  #ofRows(name: string, type: Family['type'], help: string, line: (row: Row) => string): void {
    const rows = this.#rows;
    this.#ofRules(name, type, help, function* () {
      for (const row of rows) yield line(row);
    });
  }

  #ofRules(name: string, type: Family['type'], help: string, lines: () => Iterable<string>): void {
    this.#family(name, type, help);
    this.#families.get(name)!.ofRules = lines;
  }

  /** Adds the processor times of rules since their start; shared work is divided among its rules. */
  addCpuTimes(times: readonly { readonly id: string; readonly cpuUs: number }[]): void {
    if (times.length === 0) return;
    const name = 'kuiper_rule_cpu_time_seconds_total';
    const help = 'Processor time of a rule in seconds, with its part of shared work';
    this.#ofRules(name, 'counter', help, function* () {
      for (const { id, cpuUs } of times) yield `${name}{rule="${escaped(id)}"} ${cpuUs / 1e6}\n`;
    });
  }

  /** Adds the memory of rules; shared memory is divided among them. */
  addMemory(all: readonly { readonly id: string; readonly bytes: number }[]): void {
    if (all.length === 0) return;
    const name = 'kuiper_rule_memory_bytes';
    this.#ofRules(name, 'gauge', 'Memory of a rule, with its part of shared memory', function* () {
      for (const { id, bytes } of all) yield `${name}{rule="${escaped(id)}"} ${bytes}\n`;
    });
  }

  /** Adds the memory of the threads: the main thread, `control`, and those that run rules. */
  addThreads(planes: readonly PlaneMemory[]): void {
    const add = (name: string, help: string, thread: string, bytes: number) => {
      this.#family(name, 'gauge', help).push(`${name}{thread="${thread}"} ${bytes}\n`);
    };
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const addHost = (thread: string, heapBytes: number, bufferBytes: number) => {
      add('kuiper_heap_bytes', 'Objects of JavaScript that a thread holds', thread, heapBytes);
      add('kuiper_buffer_bytes', 'Buffers that a thread holds, without its kernel', thread, bufferBytes);
    };
    addHost('control', heapUsed, arrayBuffers);
    for (const { plane, heapBytes, bufferBytes, kernelBytes, kernelUsedBytes, userCode } of planes) {
      const thread = `data_${plane}`;
      addHost(thread, heapBytes, bufferBytes);
      add('kuiper_kernel_memory_bytes', 'Memory of the kernel of a thread', thread, kernelBytes);
      add('kuiper_kernel_used_bytes', 'Memory of the kernel that is in use', thread, kernelUsedBytes);
      const most = 'Memory that scripts and plugins of a thread may have together';
      add('kuiper_user_code_max_bytes', most, thread, userCode.maxBytes);
      const name = 'kuiper_user_code_memory_bytes';
      const lines = this.#family(name, 'gauge', 'Memory that a script or plugin has in a thread');
      for (const [owner, bytes] of userCode.owners) {
        lines.push(`${name}{owner="${escaped(owner)}",thread="${thread}"} ${bytes}\n`);
      }
    }
  }

  /** Adds histograms of the times of a rule: of its operators, its sinks and its disk queues. */
  addLatencies(id: string, { operators, io, caches = [] }: Pick<RuleLatencies, 'operators' | 'io' | 'caches'>): void {
    const rule = `rule="${escaped(id)}"`;
    for (const [name, times] of operators) {
      const [, kind = '', op = ''] = operatorName.exec(name) ?? [];
      const help = `Times in microseconds that single pieces of work took ${kinds[kind]}`;
      const labels = `${rule},type="${kind}",op="${escaped(op)}",op_instance="0"`;
      this.#histogram(`kuiper_${kind}_process_latency_us_hist`, help, labels, times);
      const exchange = kind === 'sink' ? io.find(({ operator }) => operator === name) : undefined;
      if (exchange === undefined) continue;
      const ioLabels = `type="${escaped(exchange.type)}",io="sink",${rule},op="${escaped(op)}"`;
      this.#histogram('kuiper_io_duration_hist', 'Times in microseconds until sinks have passed on', ioLabels, times);
    }
    for (const [name, work, times] of caches) {
      const labels = `type="${work}",${rule},op="${escaped(operatorName.exec(name)?.[2] ?? '')}"`;
      this.#histogram('kuiper_sync_cache_duration', 'Times in microseconds of writes and reads', labels, times);
    }
    const counts = this.#family('kuiper_io_counter', 'counter', 'Messages that sources read and sinks sent');
    for (const { type, io: direction, operator, done, failed } of io) {
      const [, , op = ''] = operatorName.exec(operator) ?? [];
      for (const [status, count] of [['success', done] as const, ['err', failed] as const]) {
        const labels = `type="${escaped(type)}",io="${direction}",status="${status}",${rule},op="${escaped(op)}"`;
        counts.push(`kuiper_io_counter{${labels}} ${count}\n`);
      }
    }
  }

  /** Adds the state of a named connection. */
  addConnection(id: string, status: ConnectionState): void {
    const name = 'kuiper_conn_status_gauge';
    this.#family(name, 'gauge', '1 connected, 0 connecting, -1 disconnected: named connections').push(
      `${name}{name="${escaped(id)}"} ${connectionStates[status]}\n`,
    );
  }

  /** Adds the calls of an interface of a service. */
  addService({ service, interface: name, figures }: InterfaceFigures): void {
    const { calls, errors, tries, inFlight, waiting, breaker, times } = figures;
    const labels = `service="${escaped(service)}",interface="${escaped(name)}"`;
    const add = (family: string, type: Family['type'], help: string, value: number, more = '') => {
      this.#family(family, type, help).push(`${family}{${labels}${more}} ${value}\n`);
    };
    const failed = Object.entries(errors);
    add('kuiper_service_calls_total', 'counter', 'Calls of a service that have ended', calls);
    for (const [kind, count] of failed) {
      const help = 'Calls of a service that have ended without a value';
      add('kuiper_service_errors_total', 'counter', help, count, `,kind="${kind}"`);
    }
    add('kuiper_service_tries_total', 'counter', 'Requests sent to a service, also those sent again', tries);
    add('kuiper_service_in_flight', 'gauge', 'Calls of a service that are under way', inFlight);
    add('kuiper_service_waiting', 'gauge', 'Calls of a service that wait until others end', waiting);
    const help = '1 calls go out (closed), 0 one tries the service (half-open), -1 none goes out (open)';
    add('kuiper_service_breaker', 'gauge', help, breakerStates[breaker]);
    const ofTimes = 'Times in microseconds of answered calls of a service, with all their tries';
    this.#histogram('kuiper_service_latency_us_hist', ofTimes, labels, times);
  }

  /** Adds what became of traces or metrics for a collector. */
  addExport({ signal, sent, dropped, failedRequests, waiting }: ExportFigures): void {
    const add = (name: string, type: Family['type'], help: string, value: number) => {
      this.#family(name, type, help).push(`${name}{signal="${signal}"} ${value}\n`);
    };
    const what = 'Spans of traces, or points of metrics,';
    add('kuiper_telemetry_sent_total', 'counter', `${what} that a collector has taken`, sent);
    add('kuiper_telemetry_dropped_total', 'counter', `${what} that no collector got`, dropped);
    add('kuiper_telemetry_waiting', 'gauge', `${what} that wait for a collector`, waiting);
    add('kuiper_telemetry_failed_requests_total', 'counter', 'Requests that a collector did not take', failedRequests);
  }

  addLosses(count: number): void {
    const name = 'kuiper_losses';
    this.#family(name, 'gauge', 'Losses that nobody has acknowledged, see GET /losses').push(`${name} ${count}\n`);
  }

  /** The document in pieces. */
  *pieces(): Generator<string> {
    for (const [name, { type, help, lines, ofRules }] of this.#families) {
      if (lines.length === 0 && ofRules === undefined) continue;
      yield `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
      yield* joined(lines);
      if (ofRules !== undefined) yield* joined(ofRules());
    }
    yield '# HELP kuiper_rule_count Number of rules by status\n# TYPE kuiper_rule_count gauge\n';
    for (const [status, count] of Object.entries(this.#states)) {
      yield `kuiper_rule_count{status="${status}"} ${count}\n`;
    }
    yield* processFigures();
  }

  #histogram(name: string, help: string, labels: string, { sumUs, counts }: Histogram): void {
    const lines = this.#family(name, 'histogram', help);
    let count = 0;
    latencyBounds.forEach((bound, i) => {
      count += counts[i] ?? 0;
      lines.push(`${name}_bucket{${labels},le="${bound}"} ${count}\n`);
    });
    count += counts[latencyBounds.length] ?? 0;
    lines.push(`${name}_bucket{${labels},le="+Inf"} ${count}\n`);
    lines.push(`${name}_sum{${labels}} ${sumUs}\n`, `${name}_count{${labels}} ${count}\n`);
  }

  #sample(name: string): Sample | undefined {
    const known = this.names.get(name);
    if (known !== undefined || this.names.has(name)) {
      if (known !== undefined) this.#declare(known.family);
      return known;
    }
    const sample = sampleOf(name);
    if (sample !== undefined) this.#declare(sample.family);
    if (this.names.size >= maxNames) this.names.clear();
    this.names.set(name, sample);
    return sample;
  }

  #declare(family: string): void {
    if (this.#families.has(family)) return;
    const [, kind = '', metric = ''] = /^kuiper_([a-z]+)_(.+)$/.exec(family) ?? [];
    const [, ofCache] = /^kuiper_sync_cache_(counter|gauge)$/.exec(family) ?? [];
    const lines = () => this.#samplesOf(family);
    if (ofCache !== undefined) this.#ofRules(family, ofCache as 'counter' | 'gauge', cacheHelp[ofCache] ?? '', lines);
    const figure = operatorFigures[metric];
    if (figure !== undefined) this.#ofRules(family, figure.type, `${figure.help} ${kinds[kind]}`, lines);
  }

  #family(name: string, type: Family['type'], help: string): string[] {
    let family = this.#families.get(name);
    if (family === undefined) {
      family = { type, help, lines: [] };
      this.#families.set(name, family);
    }
    return family.lines;
  }
}

/** Lines in a piece. */
const linesInPiece = 200;

function* joined(lines: Iterable<string>): Generator<string> {
  let piece = '';
  let count = 0;
  for (const line of lines) {
    piece += line;
    if (++count % linesInPiece !== 0) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

/** Family and labels of a figure of the status; undefined when the document leaves it out. */
function sampleOf(name: string): Sample | undefined {
  const [, kind, op = '', instance, metric] = figureName.exec(name) ?? [];
  if (kind !== undefined) {
    const labels = `,type="${kind}",op="${escaped(op)}",op_instance="${instance}"}`;
    return { family: `kuiper_${kind}_${metric}`, labels };
  }
  const [, sink, , figure = ''] = cacheName.exec(name) ?? [];
  const ofCache = cacheFigures[figure];
  if (sink === undefined || ofCache === undefined) return undefined;
  return {
    family: `kuiper_sync_cache_${ofCache.type}`,
    labels: `,type="${ofCache.label}",op="${escaped(sink)}"}`,
  };
}

/** Makes the cache of figure names that consecutive documents use. */
export function makeNames(): Map<string, Sample | undefined> {
  return new Map();
}

/** Read once: a value that changes would mean another process. */
const startSeconds = Math.round(Date.now() / 1000 - process.uptime());

function* processFigures(): Generator<string> {
  const { user, system } = process.cpuUsage();
  yield '# HELP process_cpu_seconds_total Processor time of the server\n# TYPE process_cpu_seconds_total counter\n';
  yield `process_cpu_seconds_total ${(user + system) / 1e6}\n`;
  yield '# HELP process_resident_memory_bytes Memory of the server\n# TYPE process_resident_memory_bytes gauge\n';
  yield `process_resident_memory_bytes ${process.memoryUsage.rss()}\n`;
  yield '# HELP process_start_time_seconds Start of the server\n# TYPE process_start_time_seconds gauge\n';
  yield `process_start_time_seconds ${startSeconds}\n`;
}

function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`));
}
