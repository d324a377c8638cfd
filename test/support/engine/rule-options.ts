/** The options of a rule that sets none. */
import { ruleOptionSpec } from '../../../host/base/config/config-spec.js';
import { parse } from '../../../host/base/fields/field.js';
import { defineRule } from '../../../host/meta/definitions/rule-definition.js';

const plain = { id: 'r', sql: 'SELECT a FROM s', actions: [{ nop: {} }] };

export const { options: defaultOptions } = defineRule(plain, parse(ruleOptionSpec, {}));
