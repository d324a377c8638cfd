/** Parts that only some sources need, as an input log or a fair queue: loaded for the first rule that needs them. */
import type { Kernel } from '../../../../kernels/api.js';
import { sampleOften } from '../../../../kernels/streams/copy.js';
import { HaumeaError } from '../../../base/errors.js';
import { packingOf, samplingOf } from '../../../connectors/common.js';
import type { Connector, SourceForm, SourcePart } from '../../../connectors/define.js';
import { connectorFor } from '../../../connectors/loaded.js';
import type { Redeliveries } from '../../../connectors/messages/redeliveries.js';
import type { LoadedCode, MakeMessages } from '../../../plugins/define.js';
import type { SourceSpec } from '../../link/protocol.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { FedSource } from '../feed/fed-source.js';
import type { handedConnector } from '../handed/handed-source.js';
import type { HandedStream } from '../handed/handed-stream.js';
import type { RunningRule } from '../running/running.js';
import type { Shares, Throttler } from '../schedule/share-watch.js';
import type { InputLog } from '../state/input-log/input-log.js';
import type { KnownMessages } from '../state/input-log/known-messages.js';
import type { InputLogHost } from '../state/input-log/log-host.js';
import type { RulePlaces } from '../state/rule-places.js';
import type { decoderNeeds } from './decoder-needs.js';
import type { DecodingStage } from './decoding-stage.js';
import type { ReadyStage } from './ready-stage.js';
import type { SampleStage } from './sample-stage.js';
import type { UnpackStage } from './unpack-stage.js';

let Log: typeof InputLog | undefined;
let Known: typeof KnownMessages | undefined;
let Again: typeof Redeliveries | undefined;
let Apart: typeof RulePlaces | undefined;
let Unpack: typeof UnpackStage | undefined;
let Ready: typeof ReadyStage | undefined;
let Needs: typeof decoderNeeds | undefined;
let Decoding: typeof DecodingStage | undefined;
let Sample: typeof SampleStage | undefined;
let Handed: typeof HandedStream | undefined;
let fromOther: typeof handedConnector | undefined;

export async function loadInputLog(): Promise<void> {
  Log ??= (await import('../state/input-log/input-log.js')).InputLog;
  Known ??= (await import('../state/input-log/known-messages.js')).KnownMessages;
}

/** Loads the code that knows redelivered messages, where the other side keeps a session. */
export async function loadRedeliveries(form: SourceForm | undefined): Promise<void> {
  if (form?.session !== undefined)
    Again ??= (await import('../../../connectors/messages/redeliveries.js')).Redeliveries;
}

/** Makes the part that knows redelivered messages; to be loaded before. Undefined without a session. */
export function redeliveriesOf(form: SourceForm, maxMessageBytes: number): Redeliveries<Barrier> | undefined {
  if (form.session === undefined) return undefined;
  if (Again === undefined) throw new Error('redeliveries are not loaded');
  return new Again(form.session, maxMessageBytes, form.mqttVersion ?? 4);
}

/** Loads the stages that decompress and sample messages, where a source needs them. */
export async function loadMessageStages(part: SourcePart | undefined, { props }: SourceSpec): Promise<void> {
  if (part === undefined) return;
  if (packingOf(part.props, props) !== undefined) Unpack ??= (await import('./unpack-stage.js')).UnpackStage;
  if (samplingOf(part.props, props) !== undefined) Sample ??= (await import('./sample-stage.js')).SampleStage;
}

/** Makes the stage that samples messages; to be loaded before. Undefined where all are read. */
export function samplingStageOf(
  part: SourcePart,
  { name, props }: SourceSpec,
  { framing }: SourceForm,
  isBlocked: () => boolean,
  failed: (reason: string) => void,
): SampleStage | undefined {
  const sampling = samplingOf(part.props, props);
  if (sampling === undefined) return undefined;
  if (framing !== 'frames') throw new HaumeaError('config', `stream ${name}: property interval needs messages`);
  if (Sample === undefined) throw new Error('sampling is not loaded');
  return new Sample(sampling, isBlocked, failed);
}

/** What the source hears of decompression. */
interface Unpacking {
  /** A message can't be decompressed: it is left out. */
  failed(reason: string): void;
  /** Each message was decompressed, or is dropped. */
  unpacked(isDropped: boolean): void;
}

/** Makes the stage that decompresses messages; to be loaded before. Undefined where they are not compressed. */
export function unpackingOf(
  part: SourcePart,
  { name, props }: SourceSpec,
  { framing }: SourceForm,
  maxMessageBytes: number,
  { failed, unpacked }: Unpacking,
): UnpackStage | undefined {
  const method = packingOf(part.props, props);
  if (method === undefined) return undefined;
  if (framing !== 'frames') throw new HaumeaError('config', `stream ${name}: property decompression needs messages`);
  if (Unpack === undefined) throw new Error('decompression is not loaded');
  return new Unpack(method, maxMessageBytes, failed, unpacked);
}

/** Loads the stages in which messages wait for what their decoder lacks, or for the decoder. */
export async function loadReadiness({ decoder }: SourceSpec): Promise<void> {
  if (decoder === undefined) return;
  Decoding ??= (await import('./decoding-stage.js')).DecodingStage;
  Ready ??= (await import('./ready-stage.js')).ReadyStage;
  Needs ??= (await import('./decoder-needs.js')).decoderNeeds;
}

/** What messages need before they can be decoded; to be loaded before. Undefined where that is nothing. */
export function needsOf(
  { decoder }: SourceSpec,
  { format }: SourceForm,
  decoderOf: (number: number) => LoadedCode | undefined,
): LoadedCode['needs'] {
  if (decoder === undefined || format !== undefined) return undefined;
  if (Needs === undefined) throw new Error('the stage of waiting messages is not loaded');
  return Needs(decoder, decoderOf);
}

/** Makes the stage of messages that a decoder on another thread reads; to be loaded before. */
export function decodingOf(form: SourceForm, make: MakeMessages, waits: (isWaiting: boolean) => void): DecodingStage {
  if (Decoding === undefined) throw new Error('the stage of messages to decode is not loaded');
  return new Decoding(form, make, waits);
}

/** Makes that stage; to be loaded before. */
export function readinessOf(
  { name }: SourceSpec,
  { framing }: SourceForm,
  ...args: ConstructorParameters<typeof ReadyStage>
): ReadyStage {
  if (framing !== 'frames') throw new HaumeaError('config', `stream ${name}: its schemas can't come from a registry`);
  if (Ready === undefined) throw new Error('the stage of waiting messages is not loaded');
  return new Ready(...args);
}

/** Loads the code for a stream that is handed to other data planes. */
export async function loadHanding(): Promise<void> {
  Handed ??= (await import('../handed/handed-stream.js')).HandedStream;
}

/** Makes a hand-over; to be loaded before. */
export function handedStream(...args: ConstructorParameters<typeof HandedStream>): HandedStream {
  if (Handed === undefined) throw new Error('hand-overs are not loaded');
  return new Handed(...args);
}

/** Loads the code for a stream that another data plane hands over. */
export async function loadHanded(): Promise<void> {
  fromOther ??= (await import('../handed/handed-source.js')).handedConnector;
}

/** The connector of a stream, which for one that is handed over is to be loaded before. */
export function connectorIn(spec: SourceSpec): Connector {
  if (spec.handed === undefined) return connectorFor('source', spec.type);
  if (fromOther === undefined) throw new Error('handed streams are not loaded');
  return fromOther(spec);
}

/** Loads the code for places of rules with checkpoints. */
export async function loadPlaces(): Promise<void> {
  Apart ??= (await import('../state/rule-places.js')).RulePlaces;
}

/** Makes the places of rules in a source; to be loaded before. */
export function rulePlaces(...args: ConstructorParameters<typeof RulePlaces>): RulePlaces {
  if (Apart === undefined) throw new Error('places are not loaded');
  return new Apart(...args);
}

/** The source of a log. */
interface LoggedSource extends FedSource, Pick<InputLogHost, 'ready' | 'replay'> {
  readonly redeliveries: Redeliveries<Barrier> | undefined;
}

/** Opens an input log; to be loaded before. */
export function inputLog(folder: string, maxMessageBytes: number, source: LoggedSource, places: RulePlaces): InputLog {
  const { redeliveries } = source;
  const LogOf = Log;
  const KnownIn = Known;
  if (LogOf === undefined || KnownIn === undefined) throw new Error('input logs are not loaded');
  const log = places.useLog(
    (inLog) =>
      new LogOf(folder, maxMessageBytes, {
        name: source.name,
        framing: source.form.framing,
        known: redeliveries && new KnownIn(redeliveries),
        log: source.log,
        places: inLog,
        isShared: source.spec.isShared,
        ready: () => source.ready(),
        whenTaken: () => source.whenTaken(),
        replay: (bytes) => source.replay(bytes),
        waiting: () => source.acknowledgements?.count ?? 0,
        logged: () => source.acknowledgements?.advance(),
        requestCheckpoint: () => source.retention.request(),
        lost: (messages, reason, end) => {
          loseLogged(source, messages, reason);
          for (const rule of inLog.rulesBefore(end)) rule.inputLost(source, messages ?? 0, reason);
        },
      }),
  );
  if (redeliveries !== undefined) {
    redeliveries.onForgotten = () => log.forgotten();
    redeliveries.onSettled = () => log.advance();
    redeliveries.keepFreed = (id, kept) => log.freed(id, kept);
  }
  return log;
}

/** Tells of messages that were safe in a log. */
function loseLogged(source: LoggedSource, messages: number | undefined, reason: string): void {
  const count = messages === undefined ? {} : { messages };
  source.host.lost({ resource: 'stream', name: source.name, what: 'messages', reason, ...count });
}

/** Looks who takes the time of the rules; `moving` is called when work of some is about to count at another place. */
export function shareWatch(rules: ReadonlySet<RunningRule>, kernel: () => Kernel, moving: () => void): Shares {
  let watch: Shares | undefined;
  let isLoading = false;
  const load = async () => {
    const { ShareWatch, usedTime } = await import('../schedule/share-watch.js');
    watch = new ShareWatch({
      rules,
      usedTime: usedTime(),
      sampleOften: (isOn) => sampleOften(kernel(), isOn),
      load: () => loadThrottling(rules, moving),
    });
  };
  return {
    worked: (ms, now) => {
      if (watch !== undefined) watch.worked(ms, now);
      else if (!isLoading) {
        isLoading = true;
        void load();
      }
    },
    ended: (rule) => watch?.ended(rule),
  };
}

/** Throttles rules. */
async function loadThrottling(rules: ReadonlySet<RunningRule>, moving: () => void): Promise<Throttler> {
  const { Throttling } = await import('../schedule/throttling.js');
  return new Throttling({ rules, now: () => performance.now(), later: (call) => setImmediate(call), moving });
}
