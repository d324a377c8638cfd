/**
 * What only some sinks need: a cache or backlog on disk, properties made of rows. It is loaded when the first rule has
 * such a sink.
 */
import type { HostColumns } from '../../../../kernels/api.js';
import { dynamicProps } from '../../../connectors/index.js';
import type { Sink, SinkContext } from '../../../connectors/running.js';
import type { BacklogSettings, CacheSettings, SinkSpec } from '../../link/protocol.js';
import type { CachedSink, CacheHost } from './retry/cached-sink.js';
import type { BacklogHost, SinkBacklog } from './retry/sink-backlog.js';
import type { Targets, TargetsOptions } from './targets.js';

let Cache: typeof CachedSink | undefined;
let Backlog: typeof SinkBacklog | undefined;
let Rendered: typeof Targets | undefined;

/** Loads what these sinks need. */
export async function loadSinkParts(sinks: readonly SinkSpec[]): Promise<void> {
  if (Cache === undefined && sinks.some(({ cache }) => cache !== undefined)) {
    Cache = (await import('./retry/cached-sink.js')).CachedSink;
  }
  if (Backlog === undefined && sinks.some(({ backlog }) => backlog !== undefined)) {
    Backlog = (await import('./retry/sink-backlog.js')).SinkBacklog;
  }
  if (Rendered === undefined && sinks.some(({ type, props }) => Object.keys(dynamicProps(type, props)).length > 0)) {
    Rendered = (await import('./targets.js')).Targets;
  }
}

/** A sink with a cache before it, which is to be loaded before. */
export function cachedSink(settings: CacheSettings, host: CacheHost, make: (context: SinkContext) => Sink): CachedSink {
  if (Cache === undefined) throw new Error('caches are not loaded');
  return new Cache(settings, host, make);
}

/** A sink whose messages wait on disk when it takes no more; to be loaded before. */
export function backlogOf(
  settings: BacklogSettings,
  host: BacklogHost,
  make: (context: SinkContext) => Sink,
): SinkBacklog {
  if (Backlog === undefined) throw new Error('backlogs are not loaded');
  return new Backlog(settings, host, make);
}

/** Makes the values of properties that are templates; to be loaded before. */
export function targetsOf(options: TargetsOptions): Targets {
  if (Rendered === undefined) throw new Error('templates of properties are not loaded');
  return new Rendered(options);
}

/** What makes messages of JSON for a sink with a codec, which `call` runs. */
export function codecOf(
  { encoder }: SinkSpec,
  call: (encoder: number, columns: HostColumns) => void,
): ((columns: HostColumns) => void) | undefined {
  return encoder === undefined ? undefined : (columns) => call(encoder, columns);
}
