/** Makes MATCH_RECOGNIZE ready when it is imported. */
import { setMatchSyntax } from '../../sql/late-match.js';
import { parseMatch } from '../../sql/match/parse.js';
import { printMatch } from '../../sql/match/print.js';
import { setMatching } from './late-pattern.js';
import { matches } from './pattern.js';

setMatchSyntax({ parse: parseMatch, print: printMatch });
setMatching(matches);
