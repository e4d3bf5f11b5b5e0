/** Has properties end at their first failure, without looking for a smaller one. For `--import`. */

import fc from "fast-check";

fc.configureGlobal({ endOnFailure: true });
