/**
 * What only some sinks need: a retry queue, properties made of rows. It is loaded when the first rule has
 * such a sink.
 */
import type { HostColumns } from '../../../../kernels/api.js';
import { dynamicProps } from '../../../connectors/index.js';
import type { Sink, SinkContext } from '../../../connectors/running.js';
import type { SinkSpec } from '../../link/protocol.js';
import type { ChainOwner, OutputChain } from './output-chain.js';
import type { Targets, TargetsOptions } from './targets.js';

let Chain: typeof OutputChain | undefined;
let Rendered: typeof Targets | undefined;

/** Loads what these sinks need. */
export async function loadSinkParts(sinks: readonly SinkSpec[]): Promise<void> {
  if (Chain === undefined && sinks.some(hasQueue)) Chain = (await import('./output-chain.js')).OutputChain;
  if (Rendered === undefined && sinks.some(({ type, props }) => Object.keys(dynamicProps(type, props)).length > 0)) {
    Rendered = (await import('./targets.js')).Targets;
  }
}

/** Messages of the sink may wait in a queue. */
function hasQueue({ cache, retryQueue }: SinkSpec): boolean {
  return cache !== undefined || retryQueue !== undefined;
}

/** The stages before the connector of a sink; to be loaded before. Undefined where there are none. */
export function outputChain(
  spec: SinkSpec,
  owner: ChainOwner,
  make: (context: SinkContext) => Sink,
): OutputChain | undefined {
  if (!hasQueue(spec)) return undefined;
  if (Chain === undefined) throw new Error('retry queues are not loaded');
  return new Chain(spec, owner, make);
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
