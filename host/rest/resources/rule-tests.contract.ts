/** What the routes of rule tests take and give. */
import {
  defineContracts,
  done,
  integer,
  Media,
  object,
  objectOfAnything,
  orMissing,
  ref,
  string,
  text,
} from '../route/contract.js';

export const ruleTests = defineContracts(
  {
    'POST /ruletest': {
      request: ref('RuleTest'),
      answers: { 200: new Media(text, ref('RuleTestCreated')), 400: ref('RuleTestRefused') },
    },
    'POST /tickets': { answers: { 201: object({ ticket: string, expiresIn: integer }) } },
    'POST /ruletest/:id/start': orMissing(done),
    'DELETE /ruletest/:id': done,
  },
  {
    RuleTest: object(
      {
        'id?': string,
        'sql?': string,
        'mockSource?': objectOfAnything,
        'sinkProps?': objectOfAnything,
        'options?': objectOfAnything,
      },
      true,
    ),
    RuleTestCreated: object({ id: string, port: integer }),
    RuleTestRefused: object({ msg: string }, true),
  },
);
