/**
 * Messages in the input of a source, in whatever framing that is: where the payload of each lies, and the bytes that
 * another payload in its place makes. What is too long, and what is no message, goes on as it is: the kernel deals
 * with it.
 */
import { publish } from '../../base/mqtt/packet-reader.js';
import { packetBody, payloadAt, varintOf } from '../../base/mqtt/packets.js';
import type { SourceForm } from '../define.js';
import { isFailure, nextFrame } from './frames.js';

/** A piece of the input: a message, or something else that ends at `end`. */
export interface Piece {
  /** Bytes of the message; undefined for what is none. */
  readonly payload?: Buffer;
  /** Where it ends; behind the end of the bytes for what is too long. */
  readonly end: number;
  /** Bytes with another payload. */
  with?(payload: Buffer): Buffer[];
}

/** Finds the piece that begins at an offset; the length that it has at least, as long as it is incomplete. */
export type NextPiece = (bytes: Buffer, at: number) => Piece | number;

/** @param longest payload that the kernel takes, bytes */
export function piecesOf({ framing, mqttVersion }: SourceForm, longest: number): NextPiece {
  if (framing === 'mqtt') return (bytes, at) => nextPacket(bytes, at, mqttVersion ?? 4, longest);
  const next = framing === 'lines' ? nextLine : nextMessage;
  return (bytes, at) => next(bytes, at, longest);
}

/** Bytes of a frame before its metadata. */
const frameHead = 8;
/** Largest size of topic and properties beside the payload; the same number as in the kernel. */
const maxHeaderBytes = 131_072;

function nextMessage(bytes: Buffer, at: number, longest: number): Piece | number {
  if (at + frameHead > bytes.length) return frameHead;
  const payload = bytes.readUInt32LE(at);
  const meta = bytes.readUInt32LE(at + 4);
  if (payload > longest || meta > longest) return { end: at + frameHead + payload + meta };
  const frame = nextFrame(bytes, at);
  if (frame === undefined) return frameHead + payload + meta;
  if (isFailure(frame.meta)) return { end: frame.end };
  const withOther = (other: Buffer) => {
    const head = Buffer.alloc(frameHead);
    head.writeUInt32LE(other.length, 0);
    head.writeUInt32LE(frame.meta.length, 4);
    return [head, frame.meta, other];
  };
  return { payload: frame.payload, end: frame.end, with: withOther };
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

function nextLine(bytes: Buffer, at: number, longest: number): Piece | number {
  const feed = bytes.indexOf(lineFeed, at);
  const there = bytes.length - at;
  if (feed < 0) return there > longest + 1 ? { end: Number.POSITIVE_INFINITY } : there + 1;
  const stop = feed > at && bytes[feed - 1] === carriageReturn ? feed - 1 : feed;
  if (stop - at > longest) return { end: feed + 1 };
  // In JSON a line feed is space, and the text of an error loses nothing.
  const withOther = (other: Buffer) => [other.map((byte) => (byte === lineFeed ? 0x20 : byte)), Buffer.of(lineFeed)];
  return { payload: bytes.subarray(at, stop), end: feed + 1, with: withOther as Piece['with'] };
}

function nextPacket(bytes: Buffer, at: number, version: 4 | 5, longest: number): Piece | number {
  const head = bytes[at] as number;
  const body = packetBody(bytes, at);
  if (body === undefined) return bytes.length - at + 1;
  const end = body.at + body.length;
  if (head >> 4 !== publish || body.length > longest + maxHeaderBytes) return { end };
  if (end > bytes.length) return end - at;
  const from = body.length < 2 ? end : payloadAt(bytes, body.at, head, version);
  if (from > end || end - from > longest) return { end };
  const withOther = (other: Buffer) => {
    const header = bytes.subarray(body.at, from);
    return [Buffer.of(head), varintOf(header.length + other.length), header, other];
  };
  return { payload: bytes.subarray(from, end), end, with: withOther };
}
