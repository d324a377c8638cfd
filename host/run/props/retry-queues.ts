/**
 * Retry queues of rules: what a sink can't take waits on disk, in a folder of its own, so that nobody else waits. Rules
 * need not ask for it; those that have a cache before the sink have that instead.
 */
import { existsSync } from 'node:fs';
import type { SourceForm } from '../../connectors/define.js';
import { connectorOf, sinkForm } from '../../connectors/index.js';
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import type { RetryQueueSettings, SinkSpec, SourceSpec } from '../link/protocol.js';
import { sinkFolder } from './sink-caches.js';

/** The specs of a rule, each sink with the retry queue that it may have; tables do not count as sources. */
export function withRetryQueues<T extends { sources: SourceSpec[]; sinks: SinkSpec[] }>(
  rule: RuleDefinition,
  specs: T,
  catalog: Catalog,
): T {
  const { sinkCaches } = catalog;
  const { sinks } = specs;
  const { qos, bufferFullPolicy, maxBacklogBytes } = rule.options;
  if (sinkCaches === undefined || maxBacklogBytes === 0 || rule.test !== undefined) return specs;
  if (!sinks.some((sink) => sink.cache?.folder === undefined && mayWait(rule, sink))) return specs;
  // A checkpoint counts when all is out: what waits on the disk of one node is lost with it.
  if (sinkCaches.isOfNode === true && qos > 0) return specs;
  const streams = specs.sources.filter(({ name }) => catalog.source(name)?.kind !== 'table');
  if (streams.length === 0) return specs;
  const forms = streams.map(formOf);
  const isShared = streams.some((stream) => stream.isShared);
  const canWait = forms.every((form) => form?.waits === true);
  // Nobody suffers when it stands still: its sources are read when there is room.
  if (canWait && !isShared && bufferFullPolicy !== 'dropOldest') return specs;
  const isAcknowledged = forms.some((form) => form?.acknowledges === true);
  const common: Omit<RetryQueueSettings, 'folder' | 'hasRest'> = {
    awaits: qos > 0 ? 'checkpoint' : isAcknowledged ? 'source' : 'nobody',
    isShared,
    dropsOldest: dropsOldest(rule, streams),
    maxDiskBytes: Math.ceil(maxBacklogBytes / sinks.length),
    minFreeBytes: sinkCaches.minFreeBytes,
  };
  const withQueue = (sink: SinkSpec, i: number): SinkSpec => {
    const { type, props } = sink;
    if (sink.cache?.folder !== undefined || !mayWait(rule, sink)) return sink;
    const folder = sinkFolder(rule.id, i, type, props, sinkCaches.folder);
    const { cache: _inMemory, ...rest } = sink;
    return { ...rest, retryQueue: { ...common, folder, hasRest: existsSync(folder) } };
  };
  return { ...specs, sinks: sinks.map(withQueue) };
}

/** Whether a rule that reads these streams drops its oldest input when too much waits; tables do not count. */
export function dropsOldest({ options }: RuleDefinition, streams: readonly SourceSpec[]): boolean {
  const { qos, bufferFullPolicy } = options;
  if (bufferFullPolicy !== 'auto') return bufferFullPolicy === 'dropOldest';
  const canWait = streams.map(formOf).every((form) => form?.waits === true);
  return qos === 0 && !canWait && streams.some((stream) => stream.isShared);
}

const known = new WeakMap<SourceSpec, SourceForm>();

/** How the source of a stream gives its messages; read once for all rules that share the spec. */
export function formOf(stream: SourceSpec): SourceForm | undefined {
  const before = known.get(stream);
  if (before !== undefined) return before;
  const form = connectorOf(stream.type)?.source?.form(stream.props);
  if (form !== undefined) known.set(stream, form);
  return form;
}

/**
 * Whether output may wait in a retry queue. Output that is cut back to a checkpoint must be in the sink; messages
 * between rules are in their checkpoints.
 */
function mayWait({ options }: RuleDefinition, { type, props, getsLetters }: SinkSpec): boolean {
  const connector = connectorOf(type);
  if (connector?.sink === undefined || connector.isInternal || sinkForm(type, props).takes === 'nothing') return false;
  // Dead letters are not made again from a checkpoint.
  if (getsLetters === true) return true;
  if (options.qos > 0 && connector.topics !== undefined) return false;
  return options.qos < 2 || connector.sink.staysSent(props) !== undefined;
}
