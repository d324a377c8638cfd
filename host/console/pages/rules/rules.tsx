/** The rules: all of them, or one. */
import { route } from '../../state/route.js';
import { RulePage } from './one/rule-page.js';
import { RuleList } from './rule-list.js';

export function Rules() {
  const [, id] = route.value;
  return id === undefined ? <RuleList /> : <RulePage key={id} id={id} />;
}
