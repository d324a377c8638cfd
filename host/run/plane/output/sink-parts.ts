/**
 * Parts that only some sinks need: a retry queue, templates of properties, compression. They are loaded with the first
 * rule that has such a sink.
 */
import type { HostColumns } from '../../../../kernels/api.js';
import type { EncodeContext, Encoder } from '../../../codecs/define.js';
import { loadEncoder, openEncoder } from '../../../codecs/index.js';
import type { SinkPart } from '../../../connectors/define.js';
import { connectorOf, dynamicProps } from '../../../connectors/loaded.js';
import type { Sink, SinkContext } from '../../../connectors/running.js';
import { type Seal, sealOf } from '../../../connectors/seal.js';
import type { SinkSpec } from '../../link/protocol.js';
import type { ChainOwner, OutputChain } from './output-chain.js';
import type { Sealing } from './sealing.js';
import type { Targets, TargetsOptions } from './targets.js';

let Chain: typeof OutputChain | undefined;
let Rendered: typeof Targets | undefined;
let Sealed: typeof Sealing | undefined;

/** Loads the parts that these sinks need. */
export async function loadSinkParts(sinks: readonly SinkSpec[]): Promise<void> {
  if (Chain === undefined && sinks.some(hasQueue)) Chain = (await import('./output-chain.js')).OutputChain;
  if (Rendered === undefined && sinks.some(({ type, props }) => Object.keys(dynamicProps(type, props)).length > 0)) {
    Rendered = (await import('./targets.js')).Targets;
  }
  if (Sealed === undefined && sinks.some(({ type, props }) => isSealed(connectorOf(type)?.sink, props)))
    Sealed = (await import('./sealing.js')).Sealing;
}

/** Loads the encoder of the sink, and completes what it has to know. */
export async function loadSinkFormat(spec: SinkSpec): Promise<void> {
  const settings = await loadEncoder(spec.props, spec.format);
  if (settings !== undefined) spec.format = settings;
}

/** Whether messages of the sink may wait in a queue. */
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

/** The seal of messages; sinks that are given none have nothing to seal. */
function sealFor(sink: SinkPart, props: SinkSpec['props']): Seal | undefined {
  return sink.form(props).takes === 'messages' ? sealOf(sink.props, props) : undefined;
}

function isSealed(sink: SinkPart | undefined, props: SinkSpec['props']): boolean {
  return sink !== undefined && sealFor(sink, props) !== undefined;
}

/** Makes the messages of a sink, and seals them; to be loaded before. Undefined where the kernel does all. */
export function encoderOf(
  { props, format, aesKey = '' }: SinkSpec,
  sink: SinkPart,
  context: EncodeContext,
): Encoder | undefined {
  const encoder = openEncoder(props, { ...context, settings: format });
  const seal = sealFor(sink, props);
  if (seal === undefined) return encoder;
  if (Sealed === undefined) throw new Error('compression of messages is not loaded');
  return new Sealed(seal, aesKey, encoder);
}

/** Function that encodes JSON as messages for a sink with a codec, which `call` runs. */
export function codecOf(
  { encoder }: SinkSpec,
  call: (encoder: number, columns: HostColumns) => void,
): ((columns: HostColumns) => void) | undefined {
  return encoder === undefined ? undefined : (columns) => call(encoder, columns);
}
