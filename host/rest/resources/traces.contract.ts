/** What the routes of traces take and give. */
import {
  defineContracts,
  done,
  empty,
  gives,
  list,
  names,
  object,
  objectOfAnything,
  orMissing,
  orNull,
  ref,
  string,
} from '../route/contract.js';

export const traces = defineContracts(
  {
    'POST /rules/:id/trace/start': { request: objectOfAnything, ...empty },
    'POST /rules/:id/trace/stop': empty,
    'GET /trace/rule/:id': gives(orNull(names), { limit: 'most ids given' }),
    'GET /trace/:id': orMissing(gives(ref('Span'))),
    'POST /tracer': { request: objectOfAnything, ...done },
  },
  {
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
  },
);
