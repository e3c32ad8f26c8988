"""Ways in which candidates reject, hedge, correct, contradict and suppose values: {x} and {y} are two times in ms.

`REJECTED`: {x} is turned down and {y} asserted. `CORRECTED`: {x} is replaced by {y}. `OFFERED`: both are on offer.
`CONTRADICTED`: both are asserted and nothing says which counts. `SUPPOSED`: {y} is asserted, {z} holds in another
case only. `ALONE`: {y} is asserted in one of many ways. `NOTHING`: no value is asserted.
"""

from __future__ import annotations

REJECTED = """
Not {x} but {y}.
{y}, not {x}.
{y} instead of {x}
{y} rather than {x}
Instead of {x} it is {y}
Rather than {x} I get {y}
It isn't {x}, it's {y}
It is not {x}; it is {y}
{x} is wrong; {y} is right
{x} would be wrong. {y}.
{x} is incorrect, the right value is {y}
{x} is too high, {y} is right
You might think {x} but it's {y}
One might expect {x}. It is {y}.
One could say {x}; in truth it's {y}
Many people answer {x}, but the answer is {y}
People often say {x}. Wrong: it's {y}
Some get {x} because they count tokens. It's {y}.
A colleague told me {x}, I get {y}
Naively {x}, correctly {y}
A naive count gives {x}; the right one gives {y}
The naive answer is {x}, the real answer is {y}
{x} is the trap, {y} the answer
The common mistake gives {x}; the answer is {y}
{x} forgets that the first token has no gap. {y}.
{x} counts one gap too many, so {y}
{x} (wrong), so {y}
{x}? No. {y}.
{x}? No, {y}.
Is it {x}? No, it is {y}.
At first glance {x}, but really {y}
It looks like {x} but is {y}
It seems to be {x} but actually it's {y}
{x} is tempting, but {y} is correct
I was tempted to write {x}; it is {y}
It's definitely not {x}. {y}.
{y} ({x} is wrong)
{y} (and not {x})
{y} ({x} would count a gap too many)
{y}; {x} would need 31 gaps
{y}. {x} would be right only with 31 gaps.
{y}. If you count 31 gaps you get {x}, which is wrong.
{y}, {x} being wrong
{y}, unlike {x}
{y} as opposed to {x}
{y} and certainly not {x}
never {x}, always {y}
Neither {x} nor 900 ms: {y}
It can't be {x} because of the gaps, so {y}
{x} cannot be right; {y}
{x} must be wrong, so {y}
I don't get {x}, I get {y}
I don't agree with {x}; it's {y}
Contrary to {x}, it is {y}
The book says {x}; I say {y}
ChatGPT says {x}, I say {y}
With 31 gaps one would get {x}, with 30 it is {y}
Whoever answers {x} counted the tokens; {y}
The slip here is {x}. The answer is {y}.
{x} is what you get if you forget that; I get {y}
Do not answer {x}. Answer {y}.
""".strip().splitlines()

OFFERED = """
either {x} or {y}
{x} or {y}
{x}, or {y}
{x} or maybe {y}
{x} or possibly {y}
maybe {x}, maybe {y}
perhaps {x} or {y}
{x} / {y}
{x} or else {y}
{x}; or {y}
It's {x} or {y}, not sure
could be {x}, could be {y}
might be {x} or might be {y}
{x}, alternatively {y}
{x} (alternatively {y})
{x} (or {y})
{x}, otherwise {y}
If the last token counts {x}, otherwise {y}
if the last token counts {x}, if not {y}
depending on the counting, {x} or {y}
{x} or {y} depending on how you count
one of {x} and {y}
I can't decide between {x} and {y}
It depends: {x} or {y}
{x}, could also be {y}
{x}, might also be {y}
{x}; {y} is possible too
I'd say {x} but it could be {y}
Both {x} and {y} are possible.
{x} with n-1 gaps or {y} with n gaps
It is {x}, or {y} if the last token has a gap
Either {x}, or, with one more gap, {y}
It's {x} or it's {y}
Probably {x}, possibly {y}
{x} (maybe {y})
""".strip().splitlines()

CORRECTED = """
{x}. Wait, {y}.
{x}, wait, {y}
{x} - actually {y}
{x}. Actually, it's {y}.
{x}, sorry, {y}
{x}. Sorry: {y}.
{x}. Correction: {y}
{x}. I mean {y}.
{x}, I mean {y}
{x}; scratch that, {y}
{x}. Oops, {y}.
{x}. No, {y}.
{x}, no, {y}
{x}, or rather {y}
{x}. Edit: {y}
{x}. Let me redo that. {y}.
{x}. Let me recompute: {y}.
{x}. Hmm, that has a gap too many; it's {y}.
{x}. That's wrong, it's {y}.
{x}. That was wrong. {y}.
{x}. I made a mistake, it's {y}
{x}. I miscounted: {y}.
First I thought {x}, now {y}
I initially had {x} but it's {y}
Earlier I said {x}; the right one is {y}
{x} above is wrong, it should be {y}
Strike {x}, make it {y}
I take back {x}; it's {y}
{x}. On reflection, {y}.
{x}. On second thought {y}.
{x}. Rechecking gives {y}.
{x}. After recounting: {y}.
{x}. My final answer is {y}.
{x}. Final answer: {y}.
{x}. So the final answer is {y}.
{x}, but that's with a gap too many, so {y}
{x}. My bad, {y}.
{x} – nope, {y}
{x}. Fixing the gap count: {y}.
{x}. Update: {y}
I said {x} but meant {y}
~~{x}~~ {y}
""".strip().splitlines()

CONTRADICTED = """
It is {x}. It is {y}.
Completion is {x}. Completion is {y}.
Answer {x}. Answer {y}.
The request finishes at {x}. The request finishes at {y}.
{x}.\\n{y}.
total = {x}\\ntotal = {y}
completion: {x}; completion: {y}
The completion time is {x} and the total is {y}
Completion takes {x}. As said, completion takes {y}.
The last token comes at {x}. The request ends at {y}.
""".strip().splitlines()

SUPPOSED = """
{y}. If the queue doubled, {z}.
{y}. With a doubled queue {z}.
{y}; with twice the queue it would be {z}
{y}. Should the queue double, {z}.
{y}. Were the queue 200 ms, {z}.
{y}, and {z} when the queue doubles
{y} ({z} with a doubled queue)
If the queue doubled we'd have {z}; as it stands it's {y}
{y}. In the failure case: {z}.
{y} now, {z} after the queue doubles
{y}; a doubled queue pushes it to {z}
{y}. A queue of 200 ms makes it {z}.
{y}. Doubling the queue gives {z}.
{y}. Suppose the queue doubles. Then it is {z}.
{y}. For 35 tokens it would be {z}.
{y}. I'd be refuted by a measurement of {z}.
{y}. A reading of {z} would refute this.
{y}. If I measured {z} I'd be wrong.
{y}. Seeing {z} would prove me wrong.
{y}; measuring {z} instead would falsify it
{y}. With a queue of 200 ms: {z}.
{y}. Under overload, e.g., {z}.
In a case with 35 tokens: {z}. In ours: {y}.
{y}. On a slower GPU it would be {z}.
{y}. A second request would complete at {z}.
{y}. If the trace shows {z}, my answer falls.
{y}. When queueing doubles, completion goes from {y} to {z}.
Completion is {y}; once the queue doubles, completion is {z}.
Completion: {y}. Doubled queue: {z}.
""".strip().splitlines()

ALONE = """
{y}
It is {y}.
= {y}
=> {y}
-> {y}
Answer: {y}
The answer is {y}.
It takes {y}.
It would take {y}.
It should take {y}
I get {y}
I'd say {y}
I think it's {y}
I believe {y}
My guess is {y}
about {y}
≈ {y}
approximately {y}
exactly {y}
So the request is complete at {y}.
So we end at {y}
That makes {y}
That gives {y} in total
which adds up to {y}
Sum: {y}
Total: {y}
total latency {y}
Completion time = {y}
completion time of {y}
The completion time comes to {y}.
The completion time will be {y}
The completion time must be {y}
Complete after {y}
After {y} it is complete.
{y} after arrival the request is complete
At {y} the last token is out
The last token arrives at {y}
The last token appears {y} after arrival
Finished at t = {y}
done by {y}
done in {y}!
Everything together needs {y}
The user has the whole answer after {y}
The E2E latency equals {y}
e2e={y}
End-to-end: {y}
We can expect {y}.
It will be complete in {y}
Hence {y}.
Therefore, {y}.
Thus: {y}
(1) {y}
- {y}
* {y}
**{y}**
`{y}`
"{y}"
({y})
{y} (completion)
{y}, I am sure
{y}, I guess
{y} if I am not mistaken
If I counted right, {y}
With 30 gaps it's {y}
As there are 30 gaps: {y}
Because n tokens have n-1 gaps, completion is {y}
Adding everything up: {y}
Overall {y}
In all {y}
All in all, {y}
No more than {y}
It's {y} because the queue, prep and prefill come first.
The full response is there at {y} and not before.
The correct answer is {y}
{y} is my answer
{y} is the completion time
Completion happens at {y} which follows from the sum
completion → {y}
completion .......... {y}
Completion\t{y}
| completion | {y} |
""".strip("\n").splitlines()

NOTHING = """
It is not {y}.
{y} is wrong.
Is it {y}?
Could it be {y}?
Surely not {y}.
I wouldn't say {y}.
I don't think it's {y}.
People say {y}.
It can't be {y}
anything but {y}
All but {y}
I doubt that it is {y}.
It is false that it takes {y}.
No one would say {y}.
Every value except {y}.
{y}? Never.
""".strip().splitlines()
