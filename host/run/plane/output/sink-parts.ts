/**
 * Parts that only some sinks need: a retry queue, templates of properties, compression. They are loaded with the first
 * rule that has such a sink.
 */
import type { OutputPlan } from '../../../../kernels/plan/ir.js';
import { isBatch } from '../../../../kernels/plan/output-plan.js';
import type { EncodeContext, Encoder } from '../../../codecs/define.js';
import { loadEncoder, openEncoder } from '../../../codecs/index.js';
import type { SinkPart } from '../../../connectors/define.js';
import { connectorOf, dynamicProps } from '../../../connectors/loaded.js';
import type { Sink, SinkContext } from '../../../connectors/running.js';
import { type Seal, sealOf } from '../../../connectors/seal.js';
import type { SinkSpec } from '../../link/protocol.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { LateMessages } from './late-messages.js';
import type * as DeadLetterParts from './letters/dead-letters.js';
import type { ChainOwner, OutputChain } from './output-chain.js';
import type { Sealing } from './sealing.js';
import type { SinkHost } from './sink-host.js';
import { type MessageTaker, SinkMessages } from './sink-messages.js';
import type { Targets, TargetsOptions } from './targets.js';

let Chain: typeof OutputChain | undefined;
let Rendered: typeof Targets | undefined;
let Sealed: typeof Sealing | undefined;
let Late: typeof LateMessages | undefined;
let Letters: typeof DeadLetterParts | undefined;

/** Loads the parts that these sinks need. */
export async function loadSinkParts(sinks: readonly SinkSpec[]): Promise<void> {
  if (Chain === undefined && sinks.some(hasQueue)) Chain = (await import('./output-chain.js')).OutputChain;
  if (Rendered === undefined && sinks.some(({ type, props }) => Object.keys(dynamicProps(type, props)).length > 0)) {
    Rendered = (await import('./targets.js')).Targets;
  }
  if (Late === undefined && sinks.some(({ encoder }) => encoder !== undefined))
    Late = (await import('./late-messages.js')).LateMessages;
  if (Sealed === undefined && sinks.some(({ type, props }) => isSealed(connectorOf(type)?.sink, props)))
    Sealed = (await import('./sealing.js')).Sealing;
  if (Letters === undefined && sinks.some(hasLetters)) Letters = await import('./letters/dead-letters.js');
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

/** Whether the sink has dead letters, or gets those of others. */
function hasLetters({ deadLetters, getsLetters }: SinkSpec): boolean {
  return deadLetters !== undefined || getsLetters === true;
}

/** What makes dead letters; to be loaded before. */
export function letterParts(): typeof DeadLetterParts {
  if (Letters === undefined) throw new Error('dead letters are not loaded');
  return Letters;
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
function targetsOf(options: TargetsOptions): Targets {
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
function encoderOf(
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

/** What encodes JSON as messages for a sink with a codec; with a thread of its own later. */
function codecOf(
  { encoder }: SinkSpec,
  host: Pick<SinkHost, 'callUser' | 'makerOf'>,
  taker: Pick<MessageTaker, 'ending'>,
): Pick<EncodeContext, 'codec' | 'codecLater'> {
  if (encoder === undefined) return {};
  const make = host.makerOf?.(encoder);
  return {
    codec: (columns) => host.callUser(encoder, columns),
    ...(make && { codecLater: (texts) => make(texts, 'text', taker.ending) }),
  };
}

/** How the messages of a sink are made. */
interface MakingOptions extends Pick<TargetsOptions, 'label' | 'templates'> {
  readonly sendError: boolean;
  /** Plan of the output that the kernel writes; undefined for a sink for which rows are only counted. */
  readonly output: OutputPlan | undefined;
}

/** Makes the messages of a sink; `ending` of the taker says that nobody waits for them any more. */
export function sinkMessages(
  spec: SinkSpec,
  sink: SinkPart,
  { output, sendError, ...named }: MakingOptions,
  host: Pick<SinkHost, 'callUser' | 'makerOf'>,
  taker: MessageTaker,
): SinkMessages {
  const { takes, framing, isRowByRow = false } = sink.form(spec.props);
  const isSingle = isRowByRow || String(spec.props.sendSingle) === 'true';
  const hasTemplates = Object.keys(named.templates).length > 0;
  const encoder = encoderOf(spec, sink, {
    sink: named.label,
    framing: hasTemplates ? 'messages' : framing,
    sendError,
    isBatch: output !== undefined && isBatch(output),
    takesRows: takes === 'rows',
    ...codecOf(spec, host, taker),
    messages: spec.messages,
  });
  const targets = hasTemplates && output ? targetsOf({ ...named, spec: sink.props, output, isSingle }) : undefined;
  return new SinkMessages(targets, encoder, taker);
}

/** Output of a sink whose messages another thread makes; to be loaded before. */
export function lateMessages(
  messages: Pick<SinkMessages, 'makeLater'>,
  sink: { hold(barrier: Barrier): void },
  taken: () => void,
): LateMessages {
  if (Late === undefined) throw new Error('messages of other threads are not loaded');
  return new Late({
    makeLater: (chunk) => messages.makeLater(chunk),
    hold: (barrier) => sink.hold(barrier),
    taken,
  });
}
