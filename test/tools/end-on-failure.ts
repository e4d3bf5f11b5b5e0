/** Ends properties at their first failure, without shrinking it. For `--import`. */

import fc from "fast-check";

fc.configureGlobal({ endOnFailure: true });
