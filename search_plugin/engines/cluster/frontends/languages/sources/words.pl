# What is asked of the cluster for a text: its words; after the reply, the pieces that the unknown ones may have; and
# the vectors of all of them, of the replies. Words are in small letters, without accents; a sign is a word too.
use Unicode::Normalize;
my ($wanted, $text) = @ARGV;
my $alone = q{\p{P}$+<=>^`|~\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{f900}-\x{faff}\x{20000}-\x{2ceaf}};
my $plain = NFD(Encode::decode("UTF-8", $text)) =~ s/[\p{Mn}\p{Cf}\p{Co}\x{fffd}]|(?![\t\n\r])\p{Cc}//gr;
my @words = lc($plain) =~ /[$alone]|[^$alone\p{Z}\t\n\r]+/g;
my %known;
local $/;
for my $reply ($wanted eq "words" ? () : @{decode_json(<STDIN>)}) {
  die encode_json($reply->{error}), "\n" if $reply->{error};
  $known{$_->{_id}} = $_->{_source} for grep { $_->{_source} } @{$reply->{docs} // []};
}
my @others = grep { !$known{$_} } @words;
print encode_json([unique(@words)]) if $wanted eq "words";
print encode_json([@others ? unique((map { candidates($_) } @others), "[UNK]") : ()]) if $wanted eq "pieces";
my @parts = grep { $known{$_} } map { $known{$_} ? $_ : pieces($_) } @words;
print encode_json({docs => [map { {_source => $known{$_}} } @parts]}) if $wanted eq "vectors";

sub unique { my %seen; return grep { !$seen{$_}++ } @_ }

sub part { my ($word, $start, $size) = @_; return ($start ? "##" : "") . substr $word, $start, $size }

sub longest { my ($word, $start) = @_; return length($word) - $start < 24 ? length($word) - $start : 24 }

sub candidates {
  my ($word) = @_;
  return () if length($word) > 100;
  return map { my $start = $_; map { part($word, $start, $_) } 1 .. longest($word, $start) } 0 .. length($word) - 1;
}

# The pieces of a word, always the longest that is known, or one that stands for a word without pieces.
sub pieces {
  my ($word) = @_;
  my @found;
  for (my $start = 0; $start < length $word;) {
    my ($size) = grep { ($known{part($word, $start, $_)} // {})->{piece} } reverse 1 .. longest($word, $start);
    return "[UNK]" if !$size || length($word) > 100;
    push @found, part($word, $start, $size);
    $start += $size;
  }
  return @found;
}
