/** Makes MATCH_RECOGNIZE ready when it is imported. */
import { setMatchSyntax } from '../../sql/late-match.js';
import { misplacedMatch, parseMatch } from '../../sql/match/parse.js';
import { printMatch } from '../../sql/match/print.js';
import { setMatching } from './late-pattern.js';
import { matches } from './pattern.js';

setMatchSyntax({ parse: parseMatch, print: printMatch, misplaced: misplacedMatch });
setMatching(matches);
