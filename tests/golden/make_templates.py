"""Writes tests/golden/templates/features.json: what transformers makes of single features of templates, in the
environment that it sets up in jinja2; null where rendering fails.

    pip install transformers==5.24.0 jinja2==3.1.6
    python tests/golden/make_templates.py
"""

import json
import pathlib

from transformers.utils.chat_template_utils import render_jinja_template

MESSAGES = [
    {"role": "system", "content": "Be of help."},
    {"role": "user", "content": ' hé <b>"q"</b> it\'s 7\n'},
]
VALUES = dict(
    bos_token="<s>", eos_token="</s>", enable_thinking=False,
    list=[3, 1, 2], text="a-b_c d", table={"b": 1, "a": [True, None, 0.5], "c": {"x": "it's"}}, empty=[], number=7, half=0.5, nothing=None,
    people=[{"name": "Bo", "age": 3, "at": {"city": "X"}}, {"name": "al", "age": 5, "at": {"city": "Y"}}, {"name": "Cy", "age": 3, "at": {"city": "X"}}],
)

FEATURES = r"""
{{ true }} {{ false }} {{ none }} {{ True }} {{ None }} {{ nothing }}
{{ undefined_name }}|{{ messages[0].nothing }}
{{ undefined_name.x }}
{{ undefined_name + 'x' }}
{{ undefined_name ~ 'x' }}
{{ 'x' + 1 }}
{{ 'x' ~ 1 ~ 1.5 ~ true ~ none }}
{{ 1 }} {{ -1 }} {{ 1.0 }} {{ 1.5 }} {{ 100.0 }} {{ 1e3 }}
{{ 1e-7 }} {{ 1e-4 }} {{ 0.00001 }} {{ 1e16 }} {{ 1e15 }} {{ 123456789012345678 }} {{ 1.5e300 }} {{ 1e22 }}
{{ (1e16)|string }} {{ [1e-7, 1e16] }}
{{ 0.1 + 0.2 }} {{ 1 / 3 }} {{ 2 / 1 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7.5 // 2 }} {{ 7.5 % 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 0.5 }}
{{ 10 * 7 % 4 }} {{ 7 % 4 * 10 }} {{ 2 + 7 % 4 }} {{ -7 % 4 }} {{ 100 // 7 % 4 }} {{ 7 % 4 % 2 }}
{{ 1 // 0 }}
{{ number % 2 }} {{ number % 2 == 1 }} {% if number % 2 %}odd{% endif %} {{ (number + 1) % 2 }} {{ list|length % 2 }}
{{ '%s' % 'x' }} {{ '%s and %s' % ('a', 2) }} {{ '%d%%' % 5 }} {{ '%5.2f|' % 3.14159 }} {{ '%-5s|' % 'a' }} {{ '%05d' % 42 }} {{ '%x' % 255 }} {{ '%r' % 'a' }} {{ '%s' % [1] }} {{ '%s' % none }}
{{ 'Q: %s' % messages[0].role }} {{ 'Q: %s' % messages[0]['content']|upper }} {{ ('%s' % 'a') + 'b' }} {{ 'x' + '%s' % 'a' + 'y' }} {{ text % 1 }}
{{ '%s' % (1, 2) }}
{{ "%s|%s" | format("a", 1) }} {{ "%.1f" | format(2.25) }}
{{ 'a {} b {}'.format(1, 'x') }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{x}'.format(x=5) }} {{ '{:>5}|{:<5}|{:^5}|{:05.1f}'.format('a', 'b', 'c', 2.5) }}
{{ 'a' * 3 }} {{ [1] * 2 }} {{ 3 * 'ab' }}
{{ [1, 'a', none, true, 1.0, 'it\'s', "q\"q", 'b\\n', 'é', '\n'] }}
{{ (1, 'a') }} {{ (1,) }} {{ () }}
{{ {'a': 1, 'b': [1, {'c': none}]} }} {{ {} }}
{{ messages }}
{{ messages[0] }}
{{ table }}
{{ list + [4] }} {{ list[1:] }} {{ list[::-1] }} {{ list[-1] }} {{ list[:-1] }} {{ text[::-1] }} {{ text[2:5] }} {{ text[-3:] }} {{ text[0] }}
{{ list[10] }}|{{ table.zzz }}|{{ table['zzz'] }}
{{ 'a' in 'abc' }} {{ 'a' in ['a'] }} {{ 'b' in table }} {{ 'x' not in 'abc' }} {{ 1 in list }}
{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 == 1.0 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ true == 1 }} {{ none == false }} {{ 'a' == 'a' }}
{{ 'yes' if number > 3 else 'no' }} {{ 'yes' if number > 30 }} {{ number or 'x' }} {{ 0 or 'x' }} {{ '' or none }} {{ [] and 1 }} {{ not [] }}
{{ 'a' 'b' }} {{ "a" "b" }}
{{ 'tab\tnew\nline\\ \x41 \u00e9 \'q\' \"' }}
{% set a = 1 %}{% set b, c = 2, 3 %}{{ a }}{{ b }}{{ c }}
{% set x %}block {{ number }}{% endset %}{{ x }}|{{ x is string }}
{% set x | upper %}block{% endset %}{{ x }}
{% set ns = namespace(a=1, b=[]) %}{% for i in list %}{% set ns.a = ns.a + i %}{% set ns.b = ns.b + [i] %}{% endfor %}{{ ns.a }} {{ ns.b }}
{% set ns = namespace({'a': 1}) %}{{ ns.a }} {{ ns.zzz is defined }}
{% for i in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}
{% for i in list %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i > 1) }}{{ loop.depth }}{% endfor %}
{% for i in list if i > 1 %}{{ i }}{{ loop.last }}{% else %}none{% endfor %}{% for i in [] %}{% else %}empty{% endfor %}
{% for k, v in table.items() %}{{ k }}={{ v }};{% endfor %}{% for k in table %}{{ k }}{% endfor %}{% for k, v in table|dictsort %}{{ k }}{% endfor %}{% for k, v in table|items %}{{ k }}{% endfor %}
{% for c in 'abc' %}{{ c }},{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(1, 7, 2) %}{{ i }}{% endfor %}{% for i in range(3, 0, -1) %}{{ i }}{% endfor %}
{% for i in undefined_name %}x{% endfor %}ok
{% for i in list %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% if i == 2 %}{% break %}{% endif %}{% endfor %}
{% for m in messages recursive %}{{ m.role }}{% endfor %}
{% macro f(a, b='x', c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 2) }} {{ f(1, c=3) }} {{ f(b=1, a=2) }} {{ f() }}
{% macro f() %}[{{ caller() }}]{% endmacro %}{% call f() %}in{% endcall %}
{% macro f(items) %}{% for i in items %}<{{ i }}>{% endfor %}{% endmacro %}{{ f(list) | trim }}{% set r = f(list) %}{{ r|length }}{{ r is string }}
{% filter upper %}abc{% endfilter %}
{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}
{% if a is defined %}x{% elif number == 7 %}seven{% else %}y{% endif %}
{% raw %}{{ not rendered }} {% x %}{% endraw %}{# a comment #}!
{% generation %}gen {{ number }}{% endgeneration %}!
x{%- generation -%} gen {%- endgeneration -%} !
{% generation %}{% set inner = 1 %}{{ inner }}{% endgeneration %}{{ inner is defined }}
{% for m in messages %}{% generation %}{{ m.role }}{% endgeneration %},{% endfor %}
{{ messages | tojson }}
{{ messages | tojson(indent=2) }} {{ table | tojson(indent=4) }} {{ [] | tojson(indent=2) }} {{ {} | tojson(indent=2) }} {{ [[]] | tojson(indent=1) }}
{{ table | tojson }} {{ table | tojson(sort_keys=true) }} {{ 'é<&' | tojson }} {{ 'é🦀' | tojson(ensure_ascii=true) }} {{ table | tojson(separators=(',', ':')) }} {{ table | tojson(separators=[', ', ' = '], indent=2) }}
{{ 1.0 | tojson }} {{ 1e-7 | tojson }} {{ 1e16 | tojson }} {{ none | tojson }} {{ true | tojson }} {{ 'a\n\t"\\/\u2028\x7f\x00' | tojson }} {{ (1, 2) | tojson }} {{ {1: 2} | tojson }} {{ {'a': 1} | tojson(indent=0) }} {{ {'a': 1} | tojson(indent='\t') }}
{{ table | tojson(true) }} {{ 'é' | tojson(True, 2) }}
{{ undefined_name | tojson }}
{{ messages[1].content | trim }} {{ messages[1].content | length }} {{ '  x ' | trim }} {{ 'xxaxx' | trim('x') }}
{{ 'aBc dEf' | capitalize }} {{ 'aBc dEf it\'s x-y' | title }} {{ 'aBc' | upper }} {{ 'aBc' | lower }} {{ 'a b  c' | wordcount }}
{{ 'abc' | replace('b', 'x') }} {{ 'aaa' | replace('a', 'b', 2) }} {{ 'abc' | reverse }} {{ list | reverse | list }} {{ 'abc' | first }} {{ 'abc' | last }} {{ list | first }} {{ [] | first }}
{{ list | join(', ') }} {{ list | join }} {{ people | join(', ', attribute='name') }} {{ [1e-7, none, true, 1.0] | join(' ') }}
{{ list | length }} {{ list | count }} {{ table | length }} {{ none | default('d') }} {{ undefined_name | default('d') }} {{ '' | default('d', true) }} {{ undefined_name | d }}
{{ list | sort }} {{ list | sort(reverse=true) }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A', 'c'] | sort(case_sensitive=true) }} {{ people | sort(attribute='age,name') | map(attribute='name') | list }}
{{ list | min }} {{ list | max }} {{ list | sum }} {{ people | sum(attribute='age') }} {{ people | max(attribute='age') }} {{ [] | sum }}
{{ people | map(attribute='name') | list }} {{ people | map(attribute='at.city') | join(',') }} {{ ['a', 'b'] | map('upper') | list }} {{ people | map(attribute='zzz', default='-') | list }}
{{ people | selectattr('age', 'equalto', 3) | map(attribute='name') | list }} {{ people | rejectattr('age', 'eq', 3) | list }} {{ list | select('odd') | list }} {{ list | reject('odd') | list }} {{ messages | selectattr('role', 'in', ['user', 'x']) | list | length }} {{ [0, 1, ''] | select | list }}
{{ people | groupby('age') | list | length }} {% for k, g in people | groupby('at.city') %}{{ k }}:{{ g | map(attribute='name') | join }};{% endfor %}
{{ list | unique | list }} {{ ['a', 'A', 'b'] | unique | list }} {{ [1, 2, 3, 4, 5] | batch(2) | list }} {{ [1, 2, 3, 4, 5] | batch(2, 0) | list }} {{ [1, 2, 3, 4, 5] | slice(2) | list }}
{{ -3 | abs }} {{ (-3) | abs }} {{ 2.5 | round }} {{ 3.5 | round }} {{ 2.567 | round(2) }} {{ 2.1 | round(0, 'ceil') }} {{ 2.9 | round(method='floor') }} {{ 42.55 | round(1, 'floor') }} {{ 7 | round }}
{{ '42' | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ 3.9 | int }} {{ '3.5' | int }} {{ '0x1f' | int(0, 16) }} {{ '1.5' | float }} {{ 'x' | float }} {{ 3 | float }} {{ none | int }}
{{ 5 | string }} {{ 'abc' | list }} {{ table | list }} {{ 1.0 | string }} {{ none | string }} {{ true | string }} {{ [1] | string }}
{{ 'a\nb\n\nc' | indent }} {{ 'a\nb' | indent(2) }} {{ 'a\nb' | indent(2, true) }} {{ 'a\nb' | indent('> ', first=true) }} {{ 'a\n\nb' | indent(2, blank=true) }}
{{ 'abc' | center(9) }}| {{ 'foo bar baz qux' | truncate(9) }} {{ 'foo bar baz qux' | truncate(9, true) }} {{ 'foo bar baz qux' | truncate(11, false, '..', 0) }} {{ '<b>x</b>  y' | striptags }}
{{ '<a href="x">&\'' | escape }} {{ '<' | e }} {{ '<' | safe }} {{ '<' | forceescape }} {{ 1000000 | filesizeformat }} {{ 1500 | filesizeformat(true) }}
{{ table | attr('x') }}
{{ table | dictsort }} {{ table | dictsort(reverse=true) }} {{ {'a': 3, 'b': 1} | dictsort(by='value') }} {{ table | items | list | length }}
{{ text is string }} {{ number is number }} {{ true is number }} {{ 1.5 is number }} {{ true is integer }} {{ 1 is integer }} {{ 1.0 is float }} {{ 1 is float }} {{ true is boolean }} {{ none is none }} {{ undefined_name is none }} {{ undefined_name is undefined }} {{ none is defined }}
{{ text is sequence }} {{ list is sequence }} {{ table is sequence }} {{ (1, 2) is sequence }} {{ 1 is sequence }} {{ none is sequence }} {{ undefined_name is sequence }} {{ range(3) is sequence }} {{ table.items() is sequence }} {{ true is sequence }}
{{ text is iterable }} {{ list is iterable }} {{ table is iterable }} {{ 1 is iterable }} {{ none is iterable }} {{ undefined_name is iterable }} {{ range(3) is iterable }} {{ table.items() is iterable }}
{{ table is mapping }} {{ list is mapping }} {{ text is mapping }} {{ messages[0] is mapping }} {{ undefined_name is mapping }}
{{ 3 is odd }} {{ 3 is even }} {{ 4 is divisibleby(2) }} {{ 'a' is lower }} {{ 'A' is upper }} {{ '1' is lower }} {{ range is callable }} {{ text is callable }} {{ list is in([[3, 1, 2]]) }} {{ 1 is in list }} {{ none is sameas none }} {{ true is true }} {{ 1 is true }} {{ false is false }} {{ 0 is false }}
{{ 1 is eq 1 }} {{ 1 is ne 1 }} {{ 1 is lt 2 }} {{ 1 is greaterthan 2 }} {{ 1 is == 1 }} {{ 'upper' is filter }} {{ 'odd' is test }} {{ 'zzz' is filter }} {{ text is escaped }} {{ not text is string }} {{ text is not string }}
{{ 'a</t>b</t>c'.split('</t>') }} {{ 'a b  c '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ 'a b c'.rsplit(maxsplit=1) }} {{ 'a b c'.split(maxsplit=1) }} {{ 'a b c'.rsplit() }} {{ ''.split() }} {{ ''.split(',') }} {{ ' a  b '.split(' ') }} {{ 'a,b'.split(sep=',') }} {{ '  a  b  c '.split(none, 1) }} {{ '  a  b  c '.rsplit(none, 1) }}
{{ 'a</t>b'.partition('</t>') }} {{ 'ab'.partition('x') }} {{ 'a.b.c'.rpartition('.') }} {{ 'ab'.rpartition('x') }} {{ 'a</t>b'.partition('</t>')[2] }}
{{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }} {{ 'abc'.removeprefix('x') }} {{ 'abc'.removesuffix('') }}
{{ 'abcb'.index('b') }} {{ 'abcb'.rindex('b') }} {{ 'abcb'.find('b') }} {{ 'abcb'.rfind('b') }} {{ 'abc'.find('x') }} {{ 'abcb'.find('b', 2) }} {{ 'éab'.find('a') }} {{ 'abcb'.index('b', 2) }} {{ 'abcb'.count('b') }} {{ 'abcb'.count('b', 2) }} {{ 'aaa'.count('aa') }} {{ 'abc'.count('') }}
{{ 'abc'.index('x') }}
{{ 'abc'.startswith('a') }} {{ 'abc'.startswith(('x', 'a')) }} {{ 'abc'.endswith('c') }} {{ 'abc'.startswith('b', 1) }} {{ 'abc'.endswith('b', 0, 2) }} {{ 'abc'.startswith('') }}
{{ ' x '.strip() }}|{{ ' x '.lstrip() }}|{{ ' x '.rstrip() }}|{{ 'xxaxx'.strip('x') }} {{ 'abcba'.strip('ab') }} {{ '\n a \n'.strip('\n') }}| {{ ' x '.strip(none) }}
{{ 'aBc'.upper() }} {{ 'aBc'.lower() }} {{ 'aBc dE'.title() }} {{ 'aBc dE'.capitalize() }} {{ 'aBc'.swapcase() }} {{ 'Straße'.casefold() }} {{ 'it\'s a-b'.title() }}
{{ 'a'.center(5) }}|{{ 'ab'.center(5, '*') }}|{{ 'a'.ljust(3) }}|{{ 'a'.rjust(3, '0') }}|{{ '7'.zfill(3) }}|{{ '-7'.zfill(4) }}|{{ 'a\tb'.expandtabs(4) }}|{{ 'abc'.center(2) }}
{{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ 'ab'.isalpha() }} {{ 'ab'.islower() }} {{ 'AB'.isupper() }} {{ ' '.isspace() }} {{ ''.isdigit() }} {{ '½'.isdigit() }} {{ '½'.isnumeric() }} {{ '12'.isdecimal() }} {{ 'Ab Cd'.istitle() }} {{ 'a1'.isidentifier() }} {{ 'é'.isascii() }} {{ 'a\n'.isprintable() }} {{ '²'.isdigit() }} {{ '²'.isdecimal() }}
{{ ', '.join(['a', 'b']) }} {{ ''.join('abc') }} {{ '-'.join(table) }}
{{ ', '.join([1]) }}
{{ 'a\nb\r\nc\n'.splitlines() }} {{ 'a\nb\n'.splitlines(true) }} {{ 'a\rb\x0bc\u2028d'.splitlines() }} {{ ''.splitlines() }} {{ 'a\nb'.splitlines(keepends=True) }}
{{ 'aXbX'.replace('X', '-') }} {{ 'aXbX'.replace('X', '-', 1) }} {{ 'ab'.replace('', '-') }}
{{ 'ab'.zzz() }}
{{ list.count(1) }} {{ list.index(2) }} {{ list.copy() }} {{ (1, 2, 1).count(1) }} {{ (1, 2).index(2) }}
{{ list.append(1) }}
{{ list.pop() }}
{{ table.pop('a') }}
{{ table.update({'x': 1}) }}
{{ table.get('b') }} {{ table.get('zzz') }} {{ table.get('zzz', 'd') }} {{ table.keys() | list }} {{ table.values() | list | length }} {{ table.items() | list | length }} {{ table.copy() | length }} {{ 'a' in table.keys() }} {{ table.keys() }} {{ {'a': 1}.values() }} {{ {'a': 1}.items() }}
{{ dict(a=1, b=2) }} {{ dict({'a': 1}, b=2) }} {{ dict([('a', 1)]) }} {{ dict() }} {{ dict(table, x=1) | length }}
{{ messages[0]['role'] }} {{ messages[0].get('role') }} {{ messages[-1].role }} {{ messages | length }} {{ messages[1:] | length }} {{ (messages | first).role }} {{ (messages | last)['content'] | trim }}
{% set j = joiner(', ') %}{% for i in list %}{{ j() }}{{ i }}{% endfor %}{% set j = joiner() %}{{ j() }}x{{ j() }}y
{{ range(5) | list }} {{ range(0, 10, 3) | list }} {{ range(3)[1] }} {{ range(3) | length }}
{{ raise_exception('no') }}
{% if false %}{{ raise_exception('no') }}{% endif %}ok {{ raise_exception is defined }} {{ strftime_now is defined }} {{ tools is defined }} {{ tools }} {{ documents }} {{ tools is none }} {{ add_generation_prompt }} {{ zzz is defined }}
{{ strftime_now('%%') }}
{{ enable_thinking is defined and enable_thinking is false }} {{ bos_token }}{{ eos_token }}
{{ namespace is defined }}
{% set x = [] %}{% set _ = x.append(1) %}{{ x }}
{% do 1 %}
   {% if true %}   
  indented
   {% endif %}   
end
{{ 'a' -}}   b   {{- 'c' }}   d
{%- if true -%}   x   {%- endif -%}   y
  {%+ if true %}plus{% endif +%}
after
line one
  {# comment #}
line two
{% for i in list -%}
    {{ i }},
{%- endfor %}
{{ "{{" }} {{ '}}' }} {{ '{%' }}
{{ [1, 2, 3,] }} {{ {'a': 1,} }} {{ [x for x in list] }}
{{ list | map('string') | map('length') | sum }} {{ 'a' | upper | lower ~ 'x' }} {{ ('a' ~ 'b') | upper }} {{ 'a' ~ 'b' | upper }}
{{ messages[0].content.split(' ')[0].upper() }} {{ messages[0].role.upper() ~ ':' }} {{ messages[0].items() | list | length }}
{% set a = namespace(x='') %}{% for m in messages %}{% set a.x = a.x ~ m.role %}{% endfor %}{{ a.x }}
{% for m in messages %}{% set inner = m.role %}{% endfor %}{{ inner is defined }}
{% if true %}{% set inner = 1 %}{% endif %}{{ inner }}
{{ 0.1 }} {{ 1.10 }} {{ 3.14159265358979 }} {{ 1_000 }} {{ 0x1f }} {{ 0b11 }} {{ 0o17 }} {{ 12345678901234567890123 }}
{{ 5 // 2.0 }} {{ 6 / 2 }} {{ 1.0 * 3 }} {{ 7 // 1 }} {{ 2 - 3 }} {{ - 3 }} {{ not true }} {{ 3 - -3 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}
{{ 'é'.upper() }} {{ 'ß'.upper() }} {{ 'İ'.lower() | length }} {{ '🦀'|length }} {{ '🦀x'[0] }} {{ 'naïve café' | title }}
{{ '\u0041' }} {{ 'a\
b' }}
{{ messages[0].content if messages[0].role == 'system' else '' }}{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% endif %}{{ rest | length }}
{% if tools is defined and tools %}T{% endif %}{% if not tools is defined %}U{% endif %}{% if tools is iterable and tools | length > 0 %}I{% endif %}{% if documents is none %}N{% endif %}.
{% if (message is defined and message.role == 'x') or number == 7 %}ok{% endif %}{% if number is defined and number is not none and number > 3 %}!{% endif %}
{{ text.replace('-', '_').split('_') | join('+') }} {{ text | replace('-', '') | trim }} {{ (text | length) + 1 }} {{ text | length + 1 }}
{{ 'x'.join(text.split('-')) }} {{ text.__class__ }}|
{{ (list, 1)[0] }} {{ (1 if true else 2) }} {{ [1, 2] == [1, 2] }} {{ {'a': 1} == {'a': 1} }} {{ (1, 2) == [1, 2] }}
{{ none.x }}
{{ 1.5.is_integer() }} {{ 2.0.is_integer() }}
{{ messages | map(attribute='content') | map('trim') | list }} {{ messages | map(attribute='role') | unique | list | length }}
{{ 'a' if undefined_name else 'b' }} {{ undefined_name == 'x' }} {{ undefined_name is defined }} {{ undefined_name | length }} {{ undefined_name == undefined_other }} {{ [undefined_name] }}
{{ undefined_name() }}
{{ zzz.get('a') }}
{% include 'x' %}
{% import 'x' as y %}
{% block b %}in block{% endblock %}
{{ list[1:] is sequence }} {{ (list + [1]) is sequence }} {{ list[1:] | tojson }} {{ list[1:] }} {{ messages[1:] | tojson }} {{ (list + [0.5]) | tojson }} {{ list[1:] == [1, 2] }} {{ list[1:] | length }} {{ table.values() | list | tojson }}
{{ 'a' | zzz }}
{{ 'a' is zzz }}
{% set x = 1 %}{% macro g() %}{{ x }}{% endmacro %}{{ g() }}{% set x = 2 %}{{ g() }}
{% set system_message = messages[0]['content'] | trim + '\n\n' %}{{ system_message }}{{ 'x' | trim + 'y' }}
{{- bos_token }}{% for message in messages %}{{ '<|' ~ message['role'] ~ '|>\n' ~ message['content'] | trim ~ eos_token }}{% endfor %}
""".strip("\n")

# templates of several lines, as one feature each
BLOCKS = [
    "   {% if true %}   \n  indented\n   {% endif %}   \nend\n",
    "line one\n  {# comment #}\nline two\n",
    "{% for i in list -%}\n    {{ i }},\n{%- endfor %}\n",
    "  {%+ if true %}plus{% endif +%}\nafter",
    "{%- for m in messages %}\r\n{{ '<' + m.role }}\r\n{{ m.content }}\r\n>\r\n{%- endfor %}\r\n{% if add_generation_prompt %}\r\ngo\r\n{% endif %}\r\n",
    "a\rb\r{{ 'x\r\ny' }}\r", "a\n", "a\n\n", "\n\na", "{{ 'a' }}\n{{ 'b' }}\n", "{% set x %}\n a\n{% endset %}\n{{ x }}",
    "{% generation %}\n  a\n{% endgeneration %}\nb", "{%- macro f(x) -%}\n  <{{ x }}>\n{%- endmacro -%}\n{{ f(1) }}\n{{ f(2) }}",
    "{#- strip -#}\n x {#- left #}\ny", "{% raw %}\n {{ x }}\n{% endraw %}\nz", "{%- raw -%}\n {{ x }} {%- endraw -%}\nz", "{{ '''a''' }}", "{{ \"it's\" }}",
    "{{\n  number\n}}\n{%\n if true\n%}\ny{% endif %}", "{{ 1 }}\t{% if true %}\t\n x{% endif %}", "\t{% if true %}t{% endif %}", "a {% if true %}b{% endif %}\nc",
]

# what jinja2 renders and the program refuses, with an error that names it
REFUSED = r"""
{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, x=3) }}
{{ 'foo bar baz' | wordwrap(5) }}
{{ 'a b&c' | urlencode }}
{{ {'class': 'a'} | xmlattr }}
{{ table | pprint }}
{{ 'abc'.encode() }}
{{ 'abc'.translate({97: 'x'}) }}
{{ '{a}'.format_map({'a': 1}) }}
{% set c = cycler('a', 'b') %}{{ c.next() }}
{{ lipsum() }}
{{ +3 }}
{{ (5).bit_length() }}
""".strip().split("\n")


def rendered(template):
    try:
        return render_jinja_template(
            conversations=[MESSAGES], chat_template=template, add_generation_prompt=True, **json.loads(json.dumps(VALUES))
        )[0][0]
    except Exception:
        return None


if __name__ == "__main__":
    lines = [line for line in FEATURES.split("\n") if line]
    # a line of several expressions is taken apart too, so that one that fails hides no other
    parts = []
    for line in lines:
        pieces = line.replace("}} {{", "}}\0{{").split("\0")
        parts += [line] if len(pieces) == 1 or "{% set" in line or "{% macro" in line else pieces
    cases = [[template, rendered(template)] for template in dict.fromkeys(parts + BLOCKS)]
    out = pathlib.Path(__file__).parent / "templates" / "features.json"
    text = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    values = json.dumps(VALUES, ensure_ascii=False)
    assert all(rendered(template) is not None for template in REFUSED)
    refused = ",\n".join(json.dumps(template, ensure_ascii=False) for template in REFUSED)
    out.write_text(f'{{"messages": {json.dumps(MESSAGES, ensure_ascii=False)},\n"values": {values},\n"refused": [\n{refused}\n],\n"cases": [\n{text}\n]}}\n')
    print(len(cases), "features,", sum(right is None for _, right in cases), "of which fail")
