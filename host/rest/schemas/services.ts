/** Schemas that the contracts of services refer to; read with the OpenAPI document. */
import { integer, map, object, type Schema, string } from '../route/contract.js';

export const schemas: Readonly<Record<string, Schema>> = {
  ServiceStatus: object({
    address: string,
    breaker: string,
    calls_total: integer,
    errors_total: map(integer),
    tries_total: integer,
    calls_in_flight: integer,
    calls_waiting: integer,
    process_latency_us: integer,
    last_exception: string,
    last_exception_time: integer,
  }),
  ServiceFunction: object({
    ServiceName: string,
    InterfaceName: string,
    Addr: string,
    MethodName: string,
    FuncName: string,
  }),
};
