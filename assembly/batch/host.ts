// Functions of the host that the kernel calls. The host is inside a call of the kernel at that time, so they must not
// call the kernel again.

/** Hands out `count` segments (encode/output.ts); their bytes are free again when it returns. */
// @ts-ignore: decorator
import { Segment } from '../gen/encode-layouts';
import { Node } from '../gen/node-layouts';
@external("host", "output")
export declare function hostOutput(segments: Segment, count: u32): void;

/** Hands on an MQTT packet that is no message. */
// @ts-ignore: decorator
@external("host", "packet")
export declare function hostPacket(stream: Node, off: usize, len: u32): void;

/** Names messages of QoS 1 and 2 (see ackList in source/framing/mqtt.ts) whose results were handed out before. */
// @ts-ignore: decorator
@external("host", "acknowledge")
export declare function hostAcknowledge(stream: Node, ids: usize, count: u32): void;

/** Says that the tick of a node begins: `host` is the handle that the host gave it; 0 says just that work goes on. */
// @ts-ignore: decorator
@external("host", "tick")
export declare function hostTick(host: u32): void;

/** Says that the state of a node can't grow any more: its rules must end. */
// @ts-ignore: decorator
@external("host", "exhausted")
export declare function hostExhausted(node: Node): void;

/** Takes `len` bytes of saved state (state/form.ts) at `at`, which are used again when it returns. */
// @ts-ignore: decorator
@external("host", "stateOut")
export declare function hostStateOut(at: usize, len: u32): void;

/** Writes the next bytes of saved state to `at`, at most `len`, and returns how many; 0 when there are no more. */
// @ts-ignore: decorator
@external("host", "stateIn")
export declare function hostStateIn(at: usize, len: u32): u32;

/** Offset of local time from UTC in a zone at a time, both milliseconds. */
// @ts-ignore: decorator
@external("host", "zoneOffset")
export declare function hostZoneOffset(zone: u32, ms: f64): f64;

/** Monotonic clock, microseconds. */
// @ts-ignore: decorator
@external("host", "clock")
export declare function hostClock(): f64;
