/** The services that handlers of REST call. */
import type { Gate } from '../base/structures/gate.js';
import type { resources } from './resources/gen/index.js';
import type { Resource } from './route/route.js';

/** All that any of the resources calls. */
type CalledBy<R> = (R extends Resource<infer S> ? (called: S) => void : never) extends (called: infer A) => void
  ? A
  : never;

export type Services = CalledBy<(typeof resources)[number]> & {
  /** Gate that changes of definitions pass together, and imports alone. */
  readonly gate: Gate;
};
