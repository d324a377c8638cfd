/** The sources of a data plane: one for each run of a rule, or one for all rules on an equal shared stream. */
import type { StreamHandle } from '../../../../kernels/api.js';
import { reasonOf } from '../../../base/errors.js';
import { connectorFor, loadConnector, loadManifests } from '../../../connectors/loaded.js';
import type { RuleStart, SourceSpec } from '../../link/protocol.js';
import type { SourceHost } from '../feed/source-host.js';
import type { RunningSource } from '../running/running.js';
import {
  connectorIn,
  loadHanded,
  loadHanding,
  loadInputLog,
  loadMessageStages,
  loadPlaces,
  loadReadiness,
  loadRedeliveries,
} from './source-parts.js';
import { SourceRun } from './source-run.js';

/** Loads what the sources of a rule need. */
export async function loadSourceParts({ sources, inputLogs, checkpoint, hands }: RuleStart): Promise<void> {
  const isJoined = sources.some(({ isShared }) => isShared) && sources.some(isReadFirst);
  const logs = [
    ...(inputLogs === undefined ? [] : [loadInputLog()]),
    ...(inputLogs === undefined && checkpoint === undefined && !isJoined ? [] : [loadPlaces()]),
    ...(hands === undefined ? [] : [loadHanding()]),
  ];
  const own = sources.flatMap((spec) => {
    if (spec.handed !== undefined) return [loadHanded()];
    const { source } = connectorFor('source', spec.type);
    return [loadRedeliveries(source?.form(spec.props)), loadMessageStages(source, spec), loadReadiness(spec)];
  });
  await Promise.all([...logs, ...own, ...sources.map(loadSource)]);
}

/** Whether rows of shared streams wait for it, if it is a table. */
function isReadFirst({ type, props, isShared }: SourceSpec): boolean {
  return !isShared && connectorFor('source', type).source?.form(props).endsSoon === true;
}

/** What reads a stream that is handed over is in another data plane. */
async function loadSource({ type, handed }: SourceSpec): Promise<unknown> {
  return handed === undefined ? loadConnector('source', type) : loadManifests([type]);
}

export class Sources {
  /** Sources that further rules may share. */
  readonly #byKey = new Map<string, SourceRun>();
  readonly #byStream = new Map<StreamHandle, SourceRun>();

  constructor(private readonly host: SourceHost) {}

  all(): Iterable<SourceRun> {
    return this.#byKey.values();
  }

  at(stream: StreamHandle): SourceRun | undefined {
    return this.#byStream.get(stream);
  }

  /**
   * Returns the source of a shared stream that runs already, or makes one and adds it to `fresh`. A rule that goes on
   * from a `place` where others were before, and which can be read again, gets a source of its own.
   */
  of(spec: SourceSpec, { run, inputLogs, hands }: RuleStart, fresh: SourceRun[], place: unknown): SourceRun {
    const source = this.#of(spec, run, fresh, place);
    const folder = inputLogs?.[spec.name];
    if (folder !== undefined) source.useLog(folder);
    if (hands !== undefined) source.hand(run, hands);
    return source;
  }

  /** The source has other properties, if it takes them. */
  renew({ name, stream }: RunningSource, specs: readonly SourceSpec[]): void {
    const source = this.#byStream.get(stream);
    const spec = specs.find((one) => one.name === name);
    if (source === undefined || spec === undefined || !source.renew(spec) || !spec.isShared) return;
    // Rules that come use it as it is now.
    this.forget(source);
    source.key = keyOf(spec, 0);
    this.#byKey.set(source.key, source);
  }

  #of(spec: SourceSpec, run: number, fresh: SourceRun[], place: unknown): SourceRun {
    const usual = keyOf(spec, run);
    const running = this.#byKey.get(usual);
    if (place !== undefined) running?.keepPlaces();
    const isApart = running?.isEnded === false && running.places?.isPassedBy(place) === true;
    if (running !== undefined && !running.isEnded && !isApart) return running;
    const key = isApart ? keyOf({ ...spec, isShared: false }, run) : usual;
    const source = new SourceRun(spec, connectorIn(spec), this.host, key);
    this.#byKey.set(key, source);
    this.#byStream.set(source.stream, source);
    fresh.push(source);
    return source;
  }

  /** New rules on its stream get a source of their own. */
  forget(source: SourceRun): void {
    if (this.#byKey.get(source.key) === source) this.#byKey.delete(source.key);
  }

  async drop(source: SourceRun): Promise<void> {
    this.forget(source);
    this.#byStream.delete(source.stream);
    try {
      await source.close();
    } catch (error) {
      source.log.warn(`closing the source of stream ${source.name} failed: ${reasonOf(error)}`);
    }
  }
}

/** Keys of shared streams; rules of one form have one spec. */
const keys = new WeakMap<SourceSpec, string>();

function keyOf(spec: SourceSpec, run: number): string {
  if (!spec.isShared) return `${spec.name} ${run}`;
  let key = keys.get(spec);
  if (key === undefined) {
    key = `${spec.name} ${JSON.stringify(spec)}`;
    keys.set(spec, key);
  }
  return key;
}
