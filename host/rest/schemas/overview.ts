/** Schemas that the contracts of overview refer to; read with the OpenAPI document. */
import { integer, list, map, number, object, type Schema, string } from '../route/contract.js';

export const schemas: Readonly<Record<string, Schema>> = {
  Overview: object({
    version: string,
    os: string,
    arch: string,
    upTimeSeconds: integer,
    time: integer,
    cpuMs: integer,
    memoryUsed: integer,
    memoryTotal: integer,
    rules: map(integer),
    messagesIn: number,
    messagesOut: number,
    messagesFailed: number,
    troubled: integer,
    trouble: list(object({ id: string, status: string, trouble: list(string) })),
    busiest: list(object({ id: string, cpuMs: number, memory: number })),
    connections: map(integer),
    losses: integer,
  }),
};
