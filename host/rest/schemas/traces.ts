/** Schemas that the contracts of traces refer to; read with the OpenAPI document. */
import { list, object, objectOfAnything, orNull, ref, type Schema, string } from '../route/contract.js';

export const schemas: Readonly<Record<string, Schema>> = {
  Span: object(
    {
      Name: string,
      TraceID: string,
      SpanID: string,
      ParentSpanID: string,
      Attribute: orNull(objectOfAnything),
      Links: orNull(list(objectOfAnything)),
      StartTime: string,
      EndTime: string,
      ChildSpan: orNull(list(ref('Span'))),
      'RuleID?': string,
    },
    true,
  ),
};
