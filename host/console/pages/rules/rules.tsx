/** The rules: all of them, or one. */
import { route } from '../../state/route.js';
import { RuleList } from './rule-list.js';

export function Rules() {
  return <RuleList key={route.value[1]} />;
}
