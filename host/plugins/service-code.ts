/** External services as a data plane calls them: plain data that can be sent between threads. */

import type { PathRules } from '../base/files/allowed-paths.js';

/** A field of a message, in the order of the numbers. */
export interface ServiceField {
  readonly name: string;
  readonly number: number;
  /** Name in JSON: lowerCamelCase unless the schema says otherwise. */
  readonly json: string;
  /** A scalar of protobuf, `message` or `enum`. */
  readonly type: string;
  /** Name of the message or enum. */
  readonly of?: string | undefined;
  readonly repeated?: 'packed' | 'single' | undefined;
  /** Type of the keys of a map. */
  readonly key?: string | undefined;
  /** A value that is missing is no zero: the field is of a oneof, or optional. */
  readonly presence?: true | undefined;
}

/** Messages and enums of a schema, by their names with the package. */
export interface ServiceTypes {
  readonly messages: Readonly<Record<string, readonly ServiceField[]>>;
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** How google.api.http maps a method to a request. */
export interface HttpRule {
  readonly verb: string;
  /** Path with fields in braces. */
  readonly path: string;
  /** Field that is the body; `*`: all that are left; empty: none. */
  readonly body: string;
  /** Field that the body of the answer is; empty: it is the message. */
  readonly answer: string;
}

/** A method of a service. */
export interface ServiceMethod {
  readonly name: string;
  /** Service of the schema, with its package: `shop.Shop`; empty without a schema. */
  readonly service: string;
  /** Message of the arguments; null: without a schema, verb and path are arguments. */
  readonly input: string | null;
  /** Message of the result; null without a schema. */
  readonly output: string | null;
  readonly http?: HttpRule | undefined;
  /** It takes or gives many messages. */
  readonly streams?: true | undefined;
}

/** Settings of all calls of an interface. */
export interface ServiceOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Certificates are not checked. */
  readonly isInsecure: boolean;
  /** Certificates in base64, which are trusted; empty: those of the system. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** Files of the same, where these are empty. */
  readonly caPath: string;
  readonly certPath: string;
  readonly keyPath: string;
  /** How often a call is tried in all. */
  readonly tries: number;
  readonly retryMs: number;
  /** Longest time of a call with all its tries. */
  readonly timeoutMs: number;
  /** Most calls under way at once. */
  readonly atOnce: number;
  /** Longest time in which a batch of rows waits for its answers. */
  readonly batchMs: number;
  /** Batches of rows of a rule that may wait before its sources pause. */
  readonly waitingBatches: number;
  /** Failures in a row after which the service counts as down; 0: never. */
  readonly breakAfter: number;
  /** Time until a service that is down is asked again. */
  readonly breakMs: number;
  /** Longest message either way, bytes. */
  readonly maxBytes: number;
}

export type ServiceProtocol = 'rest' | 'grpc' | 'msgpack-rpc';

/** An interface of an external service. */
export interface ServiceCode extends ServiceOptions {
  readonly kind: 'service';
  /** Service and interface: `shop.pricing`. */
  readonly name: string;
  /** Number that is never used twice: it tells the code from earlier code of the same name. */
  readonly version: number;
  readonly protocol: ServiceProtocol;
  readonly address: string;
  /** Whether loopback and private addresses are allowed. */
  readonly allowPrivate: boolean;
  /** Where files of certificates may be. */
  readonly paths: PathRules;
  /** Methods by the names of functions. */
  readonly methods: Readonly<Record<string, ServiceMethod>>;
  readonly types: ServiceTypes;
}
