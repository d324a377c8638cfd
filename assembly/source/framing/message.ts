// The message under way: where payload and metadata stand in the input.

export let payload: usize = 0;
export let payloadEnd: usize = 0;
/** Topic of an MQTT message; 0 for other framings. */
export let topic: usize = 0;
export let topicLen: u32 = 0;
export let qos: u32 = 0;
export let retained: bool = false;
/** Packet id, 0 with QoS 0. */
export let packetId: u32 = 0;
/** Properties of MQTT 5, or the metadata of a frame. */
export let extra: usize = 0;
export let extraEnd: usize = 0;

/** True when unfinished messages are skipped, as oversized ones are: there will be no memory for their rest. */
export let skipsUnfinished: bool = false;

export function setSkipsUnfinished(on: bool): void {
  skipsUnfinished = on;
}

export function setPayload(from: usize, to: usize): void {
  payload = from;
  payloadEnd = to;
}

export function setTopic(off: usize, len: u32): void {
  topic = off;
  topicLen = len;
}

export function setDelivery(ofQos: u32, isRetained: bool, id: u32): void {
  qos = ofQos;
  retained = isRetained;
  packetId = id;
}

export function setExtra(from: usize, to: usize): void {
  extra = from;
  extraEnd = to;
}

/** Metadata of a frame that is no message, but the text of an error: the sign `!`. */
const FAILURE_SIGN: u8 = 0x21;

/** Tells whether the frame under way is the text of an error. */
// @ts-ignore: decorator
@inline export function isFailure(): bool {
  return extraEnd - extra == 1 && load<u8>(extra) == FAILURE_SIGN;
}
